# What builds and tests the dashboard. Many distributions have a Node that is too old; scripts/preflight then says where to get one.
# shellcheck shell=bash

need_node
