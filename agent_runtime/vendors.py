"""The vendors of models, by the prefix of their models' names: the protocol and the address of each."""

from collections.abc import Mapping

UNREACHABLE = "llm_vendor_unreachable"
WRONG_BASE_URL = "llm_base_url_wrong"
"""The problem codes of a gateway: nothing answers at the model's address, or no model server
answers there.
"""

OPENAI_URL = "https://api.openai.com/v1"

OPENAI_COMPATIBLE: Mapping[str, str | None] = {
    "cerebras": "https://api.cerebras.ai/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "fireworks_ai": "https://api.fireworks.ai/inference/v1",
    "groq": "https://api.groq.com/openai/v1",
    "hosted_vllm": None,
    "litellm_proxy": None,
    "lm_studio": "http://localhost:1234/v1",
    "mistral": "https://api.mistral.ai/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "ollama": "http://localhost:11434/v1",
    "openai": OPENAI_URL,
    "openrouter": "https://openrouter.ai/api/v1",
    "together_ai": "https://api.together.xyz/v1",
    "xai": "https://api.x.ai/v1",
}
"""The base URLs of vendors that speak OpenAI's protocol. None: the vendor needs a configured base URL."""

OTHER_PROTOCOLS = frozenset(
    {
        "anthropic",
        "azure",
        "azure_ai",
        "bedrock",
        "cohere",
        "cohere_chat",
        "databricks",
        "gemini",
        "sagemaker",
        "vertex_ai",
        "watsonx",
    }
)
"""Vendors whose servers do not speak the OpenAI protocol, even at a configured base URL."""
