"""Runs of the frameworks themselves before a made-up model, exported their own way and read here; without them it skips."""

import json

import pytest

from markbook.traces import detect, read_trace

pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_openai_agents_sdk_exports_what_is_read(tmp_path, monkeypatch):
    agents = pytest.importorskip("agents", reason="needs the package openai-agents")
    import httpx
    from agents.tracing import processors, set_trace_processors
    from openai import AsyncOpenAI

    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "0")
    path = tmp_path / "spans.jsonl"

    class Exporter(processors.TracingExporter):
        def export(self, items):
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(made) + "\n" for item in items if (made := item.export()))

    def reply(request):
        messages = json.loads(request.content)["messages"]
        answered = sum(message["role"] == "tool" for message in messages)
        calls = {0: ("look", '{"q": "bleu"}'), 1: ("transfer_to_writer", "{}")}
        message = {"role": "assistant", "content": "done"}
        if messages[0]["content"] == "triage":
            name, arguments = calls[answered]
            call = {"id": f"c{answered}", "type": "function", "function": {"name": name, "arguments": arguments}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        return httpx.Response(200, json=body)

    client = AsyncOpenAI(
        api_key="x", base_url="http://local/v1", http_client=httpx.AsyncClient(transport=httpx.MockTransport(reply))
    )
    model = agents.OpenAIChatCompletionsModel(model="m", openai_client=client)

    @agents.function_tool
    def look(q: str) -> str:
        """Look."""
        return f"found {q}"

    writer = agents.Agent(name="writer", instructions="write", model=model)
    triage = agents.Agent(name="triage", instructions="triage", tools=[look], handoffs=[writer], model=model)
    processor = processors.BatchTraceProcessor(Exporter())
    set_trace_processors([processor])
    agents.Runner.run_sync(triage, "go")
    processor.force_flush()
    set_trace_processors([])

    trace = read_trace(path)
    assert (detect(path), trace.agents, trace.input_tokens, trace.output_tokens) == (
        "openai-agents", ("triage", "writer"), 300, 30,
    )  # fmt: skip
    assert [(step.agent, step.name, step.ok) for step in trace.tools()] == [("triage", "look", True)]
    assert [(step.agent, step.target) for step in trace.interactions()] == [("triage", "writer")]


def test_smolagents_writes_what_is_read(tmp_path):
    smolagents = pytest.importorskip("smolagents", reason="needs the package smolagents")
    from smolagents import models, monitoring

    replies = iter((("look", {"q": "bleu"}), ("look", {"q": "bad"}), ("final_answer", {"answer": "x"})))

    class Made(models.Model):
        def generate(self, messages, **options):
            name, arguments = next(replies)
            function = models.ChatMessageToolCallFunction(name=name, arguments=arguments)
            return models.ChatMessage(
                role=models.MessageRole.ASSISTANT, content="so",
                tool_calls=[models.ChatMessageToolCall(id=f"c {name}", type="function", function=function)],
                token_usage=monitoring.TokenUsage(input_tokens=100, output_tokens=10),
            )  # fmt: skip

    class Look(smolagents.Tool):
        name, description, output_type = "look", "Look.", "string"
        inputs = {"q": {"type": "string", "description": "what"}}  # noqa: RUF012 - as the package wants it

        def forward(self, q):
            if q == "bad":
                raise ValueError("disk full")
            return f"found {q}"

    agent = smolagents.ToolCallingAgent(tools=[Look()], model=Made(model_id="m"), verbosity_level=0)
    result = agent.run("go", return_full_result=True)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(result.dict()), encoding="utf-8")

    trace = read_trace(path)
    assert (detect(path), trace.input_tokens, trace.output_tokens) == ("smolagents", 300, 30)
    assert [(step.name, step.ok) for step in trace.tools()] == [
        ("look", True), ("look", False), ("final_answer", True),
    ]  # fmt: skip
    path.write_text(json.dumps(agent.memory.get_succinct_steps()), encoding="utf-8")
    assert read_trace(path).steps == trace.steps


def test_mlflow_writes_what_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="needs the package mlflow or mlflow-skinny")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())

    @mlflow.trace(span_type="TOOL")
    def look(q):
        return f"found {q}"

    @mlflow.trace(span_type="CHAT_MODEL")
    def chat():
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        mlflow.get_current_active_span().set_attribute("mlflow.chat.tokenUsage", usage)
        return "ok"

    @mlflow.trace(name="planner", span_type="AGENT")
    def planner():
        chat()
        return look("bleu")

    planner()
    mlflow.flush_trace_async_logging()
    path = tmp_path / "trace.json"
    path.write_text(mlflow.get_trace(mlflow.get_last_active_trace_id()).to_json(), encoding="utf-8")

    trace = read_trace(path)
    assert (detect(path), trace.agents, trace.input_tokens, trace.output_tokens) == ("mlflow", ("planner",), 100, 10)
    assert [(step.agent, step.name, step.arguments) for step in trace.tools()] == [("planner", "look", {"q": "bleu"})]
