import pytest

from app_server.llm_gateway.forwarding.vendors import PassThrough, Recorded, Translated, Vendor, vendor_of


@pytest.mark.parametrize(
    ("model", "base_url", "vendor"),
    [
        ("openai/gpt-x", None, PassThrough("https://api.openai.com/v1", "gpt-x")),
        ("openai/gpt-x", "http://localhost:8080/v1/", PassThrough("http://localhost:8080/v1", "gpt-x")),
        ("openrouter/a/b", None, PassThrough("https://openrouter.ai/api/v1", "a/b")),
        ("deepseek/chat", None, PassThrough("https://api.deepseek.com/v1", "chat")),
        ("litellm_proxy/x", "http://proxy", PassThrough("http://proxy", "x")),
        ("litellm_proxy/x", None, Translated("litellm_proxy/x", None)),
        ("qwen/qwen3", "http://gpu:8000/v1", PassThrough("http://gpu:8000/v1", "qwen/qwen3")),
        ("llama", "http://gpu:8000/v1", PassThrough("http://gpu:8000/v1", "llama")),
        ("openai/", "http://gpu/v1", PassThrough("http://gpu/v1", "openai/")),
        ("gpt-x", None, Translated("gpt-x", None)),
        ("anthropic/claude", None, Translated("anthropic/claude", None)),
        ("anthropic/claude", "http://proxy", Translated("anthropic/claude", "http://proxy")),
        ("recorded/fix-failing-test", None, Recorded("fix-failing-test")),
    ],
)
def test_a_model_name_tells_the_vendor(model: str, base_url: str | None, vendor: Vendor) -> None:
    assert vendor_of(model, base_url) == vendor
