"""Opens a page in headless Chromium, runs a script in it, and returns what it found and what went wrong."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """The browser's path, or None; Ubuntu's is a snap that cannot read /tmp, so it does not count."""
    for name in NAMES:
        path = shutil.which(name)
        if path and "/snap" not in path and not is_snap_stub(path):
            return path
    return None


def is_snap_stub(path) -> bool:
    """Whether a program is Ubuntu's script that starts the snap."""
    try:
        with Path(path).open("rb") as file:
            return b"/snap/bin/chromium" in file.read(4096)
    except OSError:
        return True


# First of all in the page: nothing goes wrong unnoticed.
WATCH = """<script>
window.faults = [];
addEventListener("error", (event) => faults.push(String(event.message || event.target.outerHTML)), true);
addEventListener("unhandledrejection", (event) => faults.push(String(event.reason)));
for (const level of ["error", "warn"]) {
  const old = console[level];
  console[level] = (...words) => { faults.push(words.join(" ")); old(...words); };
}
</script>"""

# Last: runs the steps and leaves the answer where --dump-dom shows it.
ASK = """<script>
(async () => {
  let answer;
  try { answer = await (async () => { %s })(); } catch (fault) { faults.push("in the test: " + fault); }
  const place = document.createElement("pre");
  place.id = "the-answer";
  place.textContent = JSON.stringify({ answer, faults });
  document.body.append(place);
})();
</script>"""


def ask(browser, page, folder, steps, *flags):
    """What the JavaScript `steps` return at the end of `page` (a file), and all faults, in a dictionary."""
    text = page.read_text(encoding="utf-8")
    assert text.count("<head>") == 1 and text.rstrip().endswith("</html>")
    text = text.replace("<head>", "<head>" + WATCH).replace("</body>", ASK % steps + "</body>")
    copy = folder / "watched.html"
    copy.write_text(text, encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu",
               "--enable-logging=stderr",
               f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=4000",
               "--window-size=1280,900",
               # No network, and a message if the page asks for it.
               "--host-resolver-rules=MAP * ~NOTFOUND", *flags, "--dump-dom", copy.as_uri()]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r'<pre id="the-answer">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found, f"no answer from {browser} (exit code {run.returncode}): {run.stderr[-2000:]}"
    result = json.loads(html.unescape(found[1]))
    result["faults"] += re.findall(r'CONSOLE[^"]*"(.*?)", source', run.stderr)
    return result
