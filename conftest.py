"""Before any test module is read: helpers of tests explain their failed asserts as tests do."""

import pytest

pytest.register_assert_rewrite("tests")
