import { createHash } from 'node:crypto'

const STYLE = `
:root{color-scheme:light dark;--fg:#1f2328;--bg:#fff;--soft:#59636e;--line:#d1d9e0;--bar:#f6f8fa;--link:#0969da;--mark:#fff8c5;
--red:#b3261e;--blue:#0550ae;--green:#116329;--purple:#7a3bbd;--brown:#8a4600}
@media (prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--soft:#9198a1;--line:#3d444d;--bar:#151b23;--link:#6cb6ff;--mark:#3a3000;
--red:#ff8a80;--blue:#8cc8ff;--green:#7ee787;--purple:#d2a8ff;--brown:#ffb77c}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:70rem;color:var(--fg);background:var(--bg);font:16px/1.5 system-ui,sans-serif}
a{color:var(--link)}
h1{margin:0 0 .25rem;font-size:1.4rem;overflow-wrap:anywhere}
.facts{display:flex;flex-wrap:wrap;column-gap:1em;margin:0 0 1rem;color:var(--soft);font-size:.9rem}
.facts span{overflow-wrap:anywhere}
.bar{display:flex;flex-wrap:wrap;gap:.5rem;justify-content:space-between;align-items:center;padding:.5rem .75rem;background:var(--bar);border:1px solid var(--line);border-bottom:0;border-radius:6px 6px 0 0;font-size:.9rem}
.bar nav{display:flex;gap:1rem;align-items:center}
button{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:.25rem .75rem;cursor:pointer}
button:focus-visible,a:focus-visible{outline:2px solid var(--link);outline-offset:2px}
pre{margin:0;padding:.5rem 0;overflow-x:auto;border:1px solid var(--line);border-radius:0 0 6px 6px;font:13px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;tab-size:4}
code{display:block;min-width:max-content;font:inherit}
.l{display:block;padding:0 1rem 0 0;scroll-margin-top:30vh}
.rest{display:block;padding:0 1rem 0 6.25em}
.l:target{background:var(--mark)}
.l a{display:inline-block;width:4.5em;margin-right:1em;padding-right:.75em;text-align:right;color:var(--soft);text-decoration:none;border-right:1px solid var(--line);user-select:none}
.l a::before{content:attr(data-n)}
.note{padding:.75rem 1rem;border:1px solid var(--line);border-radius:6px;background:var(--bar)}
.hljs-comment,.hljs-quote,.hljs-meta{color:var(--soft)}
.hljs-keyword,.hljs-selector-tag,.hljs-doctag,.hljs-template-tag,.hljs-template-variable,.hljs-deletion{color:var(--red)}
.hljs-number,.hljs-literal,.hljs-attr,.hljs-attribute,.hljs-variable,.hljs-operator,.hljs-selector-attr,.hljs-selector-class,.hljs-selector-id,.hljs-symbol,.hljs-bullet{color:var(--blue)}
.hljs-string,.hljs-regexp,.hljs-addition,.hljs-char,.hljs-link{color:var(--green)}
.hljs-title,.hljs-section,.hljs-name,.hljs-type,.hljs-selector-pseudo{color:var(--purple)}
.hljs-built_in,.hljs-params .hljs-type{color:var(--brown)}
.hljs-emphasis{font-style:italic}.hljs-strong{font-weight:600}
`

/** Script that shows the copy button. The page works without the script. */
const SCRIPT = `
const button=document.getElementById('copy');
if(button){button.hidden=false;button.addEventListener('click',async()=>{
const code=document.getElementById('code');
try{await navigator.clipboard.writeText(code.textContent)}catch{const range=document.createRange();range.selectNodeContents(code);const all=getSelection();all.removeAllRanges();all.addRange(range);document.execCommand('copy')}
button.textContent='Copied';setTimeout(()=>{button.textContent='Copy'},1500)})}
`

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

export const STYLE_ELEMENT = `<style>${STYLE}</style>`
export const SCRIPT_ELEMENT = `<script>${SCRIPT}</script>`

/** Content security policy of the pages. It allows only the style and the script above, whatever a snippet contains. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(STYLE)}`,
  `script-src ${hashOf(SCRIPT)}`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')
