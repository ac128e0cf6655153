"""Last messages of coding agents: a model that asks the person something may stop, any other continues."""

import pytest

from tests.dialects.boards import write
from tests.guidance.talk import talk

ASKS = [
    "I found two configs, `staging.toml` and `prod.toml`.\n\nWhich one should the migration read?",
    "Before I go further: the old table still has 1,204 rows. Should I delete them or archive them?",
    "The tests need a Postgres server and none is running here. How would you like me to connect?",
    "I can implement this in two ways:\n\n1. A cache in Redis\n2. An LRU cache in the process\n\nWhich do you prefer?",
    "Which approach do you prefer?\n\n- **A**: keep the old endpoint\n- **B**: remove it\n- **C**: version it",
    "Do you want to keep Python 3.9 support?\n\nLet me know and I'll continue.",
    "The API key in `.env` is rejected with 401. Could you check whether it has expired?",
    "I need your AWS credentials to run the deployment.",
    "Please confirm that I may drop the `sessions` table.",
    "Please tell me when to start the migration.",
    "Please approve the plan to continue.",
    "Please confirm.",
    "Please tell me which region to use, then I can finish the rest.",
    "I'm blocked: the repository needs a token that I don't have. Please provide one.",
    "Please choose one:\n\n1. Rebase\n2. Merge\n",
    "Two questions before I start:\n1. Which Node version do you deploy to?\n2. Is downtime acceptable?",
    "The linter config contradicts the style guide (80 vs 120 columns). Which one wins?",
    "This will force-push to `main`. Are you sure?",
    "Shall I push this to the public repository?",
    "Tests pass locally. I'm waiting for your approval before I touch the production database.",
    "I can't continue without your decision on the schema. Thanks!",
    "Is `legacy/` still used by anyone? If not, it could go.\nLet me know what you decide.",
    "Should the button say “Save” or “Apply”? Everything else is in place.\nShould it be blue or grey?",
    "Let me know which of the two you want. Happy to answer any questions!",
    "Ich habe zwei Dateien gefunden. Welche soll ich nehmen?",
    "どちらのデータベースを使いますか？",
    "Reply with `yes` to overwrite the file, or `no` to keep it.",
    "I see uncommitted changes in your working tree that aren't mine. What should I do with them?",
]

STOPS = [
    "All done! Is there anything else you'd like me to help with?",
    "I've updated the parser. Anything else?",
    "All tasks complete! Would you like me to explain anything?",
    "Please confirm to proceed with the remaining tasks.",
    "The parser is fixed. Please let me know whether to continue.",
    "The bug is fixed. Let me know if you have any questions!",
    "I've finished the first item. Would you like me to continue with the remaining items?",
    "Step 1 is complete. Shall I proceed?",
    "Refactoring is done. Should I go ahead with the next step?",
    "The parser is fixed. Want me to run the tests now?",
    "Would you like me to update the changelog next?",
    "Two of four items are done. Do you want me to keep going, or is this enough for today?",
    "I can run the tests and update the changelog if you'd like.",
    "Let me know if you want me to continue with the rest.",
    "The implementation is complete and working. ✅",
    "Summary:\n- Fixed the parser\n- Added a guard\n\nNext steps:\n- Run the tests\n- Update the changelog",
    "Now I'll run the tests.",
    "Is the loop fixed? Yes: it now ends at the first empty token.",
    "What's next?\n- Run the tests\n- Update the changelog",
    "Feel free to run the tests yourself. Hope this helps!",
    "I've made good progress. Ready to move on to the next item?",
    "Fixed. Does that look good?",
    "Everything is in place. How does that sound?",
    "I've reached a natural stopping point. Shall I continue with the remaining two tasks?",
    "The work is mostly done; the tests were not run. Let me know how else I can help! Anything else?",
    "Done. Soll ich weitermachen?",
    "完成了第一项。要继续吗？",
    "The parser handles nested lists now. Can I help with anything else?",
]


@pytest.mark.parametrize("message", ASKS)
def test_a_model_that_asks_the_person_something_may_stop(message: str) -> None:
    with talk(profile="quiet") as agent:
        write(agent, "x Fix the parser", "> Run the tests", "Update the changelog")
        assert agent.about_to_stop(message) is None


@pytest.mark.parametrize("message", STOPS)
def test_a_courtesy_an_offer_or_a_report_does_not_end_the_work(message: str) -> None:
    with talk(profile="quiet") as agent:
        write(agent, "x Fix the parser", "> Run the tests", "Update the changelog")
        assert agent.about_to_stop(message) is not None
