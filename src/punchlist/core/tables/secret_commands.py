"""The commands that print nothing but a secret."""

from __future__ import annotations

from typing import Final

PRINTS_SECRET: Final = r"""
    vault read -field
    vault kv get -field
    op read
    op item get --reveal|--fields
    pass show
    gopass show -\w*o|--password
    aws secretsmanager get-secret-value
    aws ssm get-parameter --with-decryption
    gcloud secrets versions access
    kubectl|oc get (?:.*,)?secrets?(?:[.,/].*)?
    security find-generic-password|find-internet-password -\w*w\w*
    az keyvault secret show
    bw get password|totp|notes
    heroku config:get
    terraform|tofu output -raw
    openssl rand
    doppler secrets get --plain
    chamber read -\w*q|--quiet
    secret-tool lookup
    """
"""Patterns of words that stand in a command in this order; an option may have its value behind `=`."""
