"""Tests of using pages: opening addresses, finding elements, filling fields, reading text, switching tabs."""

import base64
from pathlib import Path

import pytest

from agent_runtime.events.content import ImageContent
from tests.agent_runtime.tools.browser.conftest import Driver
from tests.support.web_site import WebSite

pytestmark = pytest.mark.browser

FORM = """<title>A form</title>
<label for=name>Your name</label> <input id=name value=old>
<input type=password id=pw aria-label=Password value=geheim>
<select aria-label=Colour><option>red<option value=g>green<option>blue</select>
<label><input type=checkbox id=ok> I agree</label>
<textarea aria-label=Remarks></textarea>
<div contenteditable=true aria-label=Rich>first</div>
<input type=date aria-label=When>
<button disabled>Never</button>
<button hidden>Unseen</button>
<form action=/found><input name=q aria-label=Search></form>
<script>
  const [name, ok] = [document.getElementById('name'), document.getElementById('ok')]
  name.addEventListener('input', (e) => { document.title = 'typed ' + e.isTrusted })
  ok.addEventListener('click', (e) => { document.title = 'agreed ' + e.isTrusted })
</script>"""


async def test_an_address_is_opened_and_named(browser: Driver, site: WebSite):
    site.pages["/"] = "<title>Home\n page</title>"

    assert await browser.open(site.url + "/") == f"URL: {site.url}/\nTitle: Home page"


async def test_a_local_address_needs_no_scheme(browser: Driver, site: WebSite):
    site.pages["/x"] = "<title>X</title>"

    assert "Title: X" in await browser.open(site.other.removeprefix("http://") + "/x")


async def test_what_can_be_used_is_listed_with_numbers_and_values(browser: Driver, site: WebSite):
    site.pages["/"] = FORM
    await browser.open(site.url)

    state = await browser.state()

    assert '[0] textbox "Your name" = "old"' in state
    assert '[1] password "Password" = "••••••"' in state
    assert '[2] select "Colour" = "red" options: red | green | blue' in state
    assert '[3] checkbox "I agree"' in state
    assert '[5] textbox "Rich" = "first"' in state
    assert '[7] button "Never" (disabled)' in state
    assert "geheim" not in state
    assert "Unseen" not in state


async def test_fields_are_filled_as_a_person_would(browser: Driver, site: WebSite):
    site.pages["/"] = FORM
    site.pages["/found"] = "<title>Found</title>"
    await browser.open(site.url)

    assert "typed true" in (await browser.type("Your name", "Ada")).text
    await browser.type("Colour", "green")
    assert "agreed true" in (await browser.click("I agree")).text
    await browser.type("Remarks", "one\ntwo\n")
    await browser.type("Rich", "second")
    await browser.type("When", "2030-12-31")

    state = await browser.state()
    assert '"Your name" = "Ada"' in state
    assert '"Colour" = "green"' in state
    assert '"I agree" (checked)' in state
    assert '"Remarks" = "one two"' in state
    assert '"Rich" = "second"' in state
    assert '"When" = "2030-12-31"' in state
    assert "Title: Found" in (await browser.type("Search", "gold\n")).text
    assert "/found?q=gold" in site.asked


async def test_a_field_is_emptied(browser: Driver, site: WebSite):
    site.pages["/"] = FORM
    await browser.open(site.url)
    await browser.type("Your name", "")

    assert '[0] textbox "Your name"\n' in await browser.state()


async def test_what_a_field_does_not_take_is_said(browser: Driver, site: WebSite):
    site.pages["/"] = FORM
    await browser.open(site.url)

    for name, text, reason in (
        ("Colour", "pink", "no such option"),
        ("I agree", "yes", "browser_click"),
        ("When", "tomorrow", "takes a date"),
        ("Never", "x", "disabled"),
    ):
        answer = await browser.type(name, text)
        assert answer.is_error, name
        assert reason in answer.text


async def test_a_file_of_the_workspace_is_handed_over_and_no_other(
    browser: Driver, site: WebSite, workspace: Path, tmp_path: Path
):
    site.pages["/"] = """<input type=file aria-label=Upload>
        <script>document.querySelector('input').onchange = async (e) => {
          document.title = await e.target.files[0].text() }</script>"""
    (workspace / "a.txt").write_text("what it says")
    (tmp_path / "b.txt").write_text("not yours")
    (workspace / "link.txt").symlink_to(tmp_path / "b.txt")
    await browser.open(site.url)

    assert "Title: what it says" in (await browser.type("Upload", "a.txt")).text
    for path in (str(tmp_path / "b.txt"), "../b.txt", "link.txt", "missing.txt"):
        assert (await browser.type("Upload", path)).is_error
    assert "not yours" not in await browser.state()


async def test_elements_in_shadow_trees_and_frames_are_used(browser: Driver, site: WebSite):
    site.pages["/"] = f"""<title>Outer</title><div style="height: 900px"></div><div id=host></div>
        <iframe src=/same width=400></iframe><iframe src="{site.other}/foreign" width=400></iframe>
        <script>document.getElementById('host').attachShadow({{mode: 'open'}}).innerHTML =
          '<button onclick="document.title=\\'shadow \\' + event.isTrusted">In the shade</button>'</script>"""
    inner = "<button onclick=\"parent.postMessage('x','*'); this.textContent='{} done'\">{}</button>"
    nested = f"<p>x</p><input aria-label=Deep><iframe src={site.url}/deepest width=300 height=90></iframe>"
    site.pages["/same"] = inner.format("same", "Same site")
    site.pages["/foreign"] = inner.format("foreign", "Other site") + nested
    site.pages["/deepest"] = inner.format("deepest", "Deepest")
    await browser.open(site.url)

    assert "Title: shadow true" in (await browser.click("In the shade")).text
    await browser.click("Same site")
    await browser.click("Other site")
    await browser.click("Deepest")
    await browser.type("Deep", "down")

    state = await browser.state()
    assert '"same done"' in state
    assert '"foreign done"' in state
    assert '"deepest done"' in state
    assert '"Deep" = "down"' in state
    assert f"In a frame of the page ({site.other}/foreign):" in state
    assert "In a frame of the page" in await browser.content()


async def test_an_element_that_is_covered_is_not_clicked(browser: Driver, site: WebSite):
    site.pages["/"] = """<button onclick="document.title='clicked'">Below</button>
        <div id=modal style="position:fixed;inset:0;background:#fff">Accept cookies?</div>"""
    await browser.open(site.url)
    answer = await browser.click("Below")

    assert answer.is_error
    assert 'covered by <div id="modal"> Accept cookies?' in answer.text
    assert "clicked" not in await browser.state()


async def test_numbers_of_an_earlier_page_mean_nothing(browser: Driver, site: WebSite):
    site.pages["/"] = "<button>One</button>"
    site.pages["/two"] = "<button>Two</button>"
    await browser.open(site.url)
    await browser.state()
    await browser.open(site.url + "/two")

    for index in (0, 7):
        answer = await browser.call("click", index=index)
        assert answer.is_error
        assert "browser_get_state" in answer.text


async def test_the_text_of_a_page_is_markdown_without_what_is_hidden(browser: Driver, site: WebSite):
    site.pages["/"] = """<h1>Title</h1><p>Some <b>bold</b> text, a <a href=/next>link</a>.</p>
        <ul><li>one<li>two<ol><li>deep</ol></ul><pre>x = 1\n  y</pre>
        <table><tr><th>a<th>b<tr><td>1<td>2|3</table>
        <p hidden>secret</p><script>var x</script><style>p{}</style><img src=x alt="A plan">"""
    await browser.open(site.url)

    text = await browser.content()

    body = text.split("\n\n", 1)[1]
    assert body == (
        "# Title\n\nSome **bold** text, a link.\n\n- one\n- two\n  1. deep\n\n```\nx = 1\n  y\n```\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2\\|3 |\n\n[image: A plan]"
    )
    assert f"a [link]({site.url}/next)." in await browser.content(extract_links=True)


async def test_a_long_text_is_read_in_pieces(browser: Driver, site: WebSite):
    words = " ".join(f"w{n:05}" for n in range(7_000))
    site.pages["/"] = f"<p>{words}</p>"
    await browser.open(site.url)

    pieces, start = "", 0
    while True:
        text = await browser.content(start_from_char=start)
        pieces += text.split("\n\n")[1]
        if "go on with start_from_char=" not in text:
            break
        start = int(text.rsplit("start_from_char=", 1)[1].rstrip(".]"))

    assert pieces == words
    assert (await browser.call("get_content", start_from_char=len(words))).is_error


async def test_a_screenshot_is_an_image_of_the_page(browser: Driver, site: WebSite):
    site.pages["/"] = "<body style='background:#f00'><button>x</button>"
    await browser.open(site.url)

    seen = await browser.call("get_state", include_screenshot=True)

    text, image = seen.content
    assert isinstance(image, ImageContent)
    kind, _, data = image.image_urls[0].partition(";base64,")
    assert kind == "data:image/jpeg"
    assert base64.b64decode(data).startswith(b"\xff\xd8\xff")
    assert "button" in text.text


async def test_a_page_is_scrolled_and_loads_more(browser: Driver, site: WebSite):
    site.pages["/"] = """<div style="height:3000px">top</div><a href=/end>End</a>
        <script>addEventListener('scroll', () => { document.title = 'scrolled' })</script>"""
    await browser.open(site.url)

    assert "(below the view)" in await browser.state()
    answer = await browser.call("scroll", direction="down")
    assert "Title: scrolled" in answer.text
    assert "640 are above" in answer.text
    assert "0 are above" in (await browser.call("scroll", direction="up")).text


async def test_going_back_stops_at_the_first_page(browser: Driver, site: WebSite):
    site.pages["/"] = "<title>One</title><a href=/two>go</a>"
    site.pages["/two"] = "<title>Two</title>"
    await browser.open(site.url)

    assert "Title: Two" in (await browser.click("go")).text
    assert "Title: One" in (await browser.call("go_back")).text
    await browser.call("go_back")  # the empty page of a new tab
    assert (await browser.call("go_back")).is_error


async def test_tabs_are_listed_switched_and_closed(browser: Driver, site: WebSite):
    site.pages["/"] = "<title>One</title><a href=/two target=_blank>other</a><a href=/three>here</a>"
    site.pages["/two"] = "<title>Two</title>"
    site.pages["/three"] = "<title>Three</title>"
    await browser.open(site.url)

    assert "new tab was opened" in (await browser.click("other")).text
    listed = (await browser.call("list_tabs")).text.splitlines()
    assert [line.split()[-1] for line in listed] == ["One", "Two"]
    assert listed[1].startswith("* ")
    first, second = (line.split()[1].rstrip(":") for line in listed)
    assert "Title: One" in (await browser.call("switch_tab", tab_id=first)).text
    assert "Title: Three" in (await browser.click("here", new_tab=True)).text
    assert len((await browser.call("list_tabs")).text.splitlines()) == 3
    assert "closed" in (await browser.call("close_tab", tab_id=second)).text
    assert (await browser.call("switch_tab", tab_id=second)).is_error
    for line in (await browser.call("list_tabs")).text.splitlines():
        await browser.call("close_tab", tab_id=line.split()[1].rstrip(":"))
    gone = await browser.call("get_state")
    assert gone.is_error
    assert "browser_navigate" in gone.text
    assert "Title: One" in await browser.open(site.url)
