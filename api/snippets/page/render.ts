import type { SnippetRecord } from '../../../state/views/snippets/snippets.ts'
import { escapeHtml, linesOf } from './lines.ts'
import { KEY_FIELD } from './reveal-form.ts'
import { SCRIPT_ELEMENT, STYLE_ELEMENT } from './style.ts'

const KIB = 1_024

export interface ShownContent {
  /** The content, escaped and, if possible, highlighted. */
  readonly html: string
  /** Whether `html` has only the beginning of the content. */
  readonly isCut: boolean
}

export function snippetPage(snippet: SnippetRecord, content: ShownContent): string {
  const burns = snippet.readsLeft !== undefined
  const raw = `/api/v1/pastes/${snippet.id}/raw`
  const notes = [
    burns ? note(readsNote(snippet.readsLeft!)) : '',
    content.isCut
      ? note(`This is only the beginning. The <a href="${raw}">complete content</a> is ${escapeHtml(sizeOf(snippet.bytes))} long.`)
      : '',
  ].join('')
  const links = burns ? '' : `<a href="${raw}">Raw</a>`
  return document(
    titleOf(snippet),
    `<main><h1>${escapeHtml(titleOf(snippet))}</h1>${factsOf(snippet)}${notes}
<div class="bar"><span>${escapeHtml(snippet.language)}</span><nav>${links}<button id="copy" type="button" hidden>Copy</button></nav></div>
<pre tabindex="0" aria-label="content"><code id="code">${numbered(content.html)}</code></pre></main>${SCRIPT_ELEMENT}`,
  )
}

export interface RevealForm {
  /** Key that identifies the read, so that sending the form again uses no further read. */
  readonly key: string
  /** Whether the content is too long for a page, so that the answer to the form is a file. */
  readonly isFile: boolean
}

/**
 * Renders the page of a snippet with limited reads. The page asks the reader before it uses a read, because link
 * previews also open pages.
 */
export function revealPage(snippet: SnippetRecord, { key, isFile }: RevealForm): string {
  const often = snippet.readsLeft === 1 ? 'once more' : `${snippet.readsLeft} more times`
  const file = isFile ? ` Your browser will save the content (${escapeHtml(sizeOf(snippet.bytes))}) as a file.` : ''
  return document(
    'A snippet with limited reads',
    `<main><h1>A snippet with limited reads</h1><p class="note">It can be read ${often} before it is deleted.${file}</p>
<form method="post" action="/p/${snippet.id}"><input type="hidden" name="${KEY_FIELD}" value="${key}"><button id="reveal" type="submit">Read it now</button></form></main>`,
  )
}

export function errorPage(title: string, message: string): string {
  return document(title, `<main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(message)}</p></main>`)
}

function document(title: string, body: string): string {
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Millrace</title>${STYLE_ELEMENT}</head><body>${body}</body></html>
`
}

/** Matches a visible character. */
const VISIBLE = /[^\p{C}\p{Z}]/u

/** Returns the title, or a replacement if the title is missing or would be blank on the page. */
function titleOf({ title, id }: SnippetRecord): string {
  return title !== undefined && VISIBLE.test(title) ? title : `Snippet ${id}`
}

function factsOf({ username, createdAt, expiresAt, bytes, views, visibility }: SnippetRecord): string {
  const facts = [
    `by ${username ?? 'anonymous'}`,
    `${time(createdAt)}`,
    ...(expiresAt === undefined ? [] : [`expires ${time(expiresAt)}`]),
    sizeOf(bytes),
    `${views} ${views === 1 ? 'view' : 'views'}`,
    visibility,
  ]
  return `<p class="facts">${facts.map((fact) => `<span>${escapeHtml(fact)}</span>`).join('')}</p>`
}

function time(at: number): string {
  return `${new Date(at).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length).replace('T', ' ')} UTC`
}

function sizeOf(bytes: number): string {
  if (bytes < KIB) return `${bytes} bytes`
  return bytes < KIB * KIB ? `${(bytes / KIB).toFixed(1)} KiB` : `${(bytes / KIB / KIB).toFixed(1)} MiB`
}

function readsNote(left: number): string {
  if (left === 0) return 'This was the last read, and the snippet is now deleted. Copy it while you can see it.'
  return `This snippet can be read ${left === 1 ? 'once more' : `${left} more times`}.`
}

function note(html: string): string {
  return `<p class="note">${html}</p>`
}

/**
 * Wraps each line in an element, so that the style sheet can number the lines and copied text has no line numbers. A
 * trailing line break does not start a new line. Lines that `linesOf` does not separate are shown without numbers.
 */
function numbered(html: string): string {
  const { lines, rest } = linesOf(html)
  const hasRest = rest !== ''
  const endsWithBreak = !hasRest && lines.length > 1 && lines.at(-1)!.replaceAll(/<[^>]*>/g, '') === ''
  const shown = endsWithBreak ? lines.slice(0, -1) : lines
  const wrapped = shown.map((line, index) => {
    const end = index < shown.length - 1 || endsWithBreak || hasRest ? '\n' : ''
    return `<span class="l" id="L${index + 1}"><a href="#L${index + 1}" data-n="${index + 1}" aria-label="line ${index + 1}"></a>${line}${end}</span>`
  })
  return wrapped.join('') + (hasRest ? `<span class="rest">${rest}</span>` : '')
}
