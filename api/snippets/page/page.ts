import type { SnippetRecord } from '../../../state/views/snippets/snippets.ts'
import type { Answer } from '../../kit/answer.ts'
import { isUnavailable } from '../../kit/commands/idempotency.ts'
import { ApiError, errorHeaders } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import type { ArrivingBody } from '../../kit/route.ts'
import type { SnippetAccess } from '../access.ts'
import { PLAINTEXT } from '../languages/detect.ts'
import type { ReadRequest, SnippetReads } from '../read.ts'
import { answeringBlobs } from '../stored-content.ts'
import { type Highlighter, MAX_HIGHLIGHTED_BYTES } from './highlighter.ts'
import { escapeHtml } from './lines.ts'
import { errorPage, revealPage, type ShownContent, snippetPage } from './render.ts'
import { formKeyFrom, newFormKey } from './reveal-form.ts'
import { PAGE_POLICY } from './style.ts'

/**
 * Maximum size of the content on a page. Browsers struggle with longer pages, so longer content is cut, and the page
 * links to the complete content. For a snippet with limited reads, that link might no longer work, so the complete
 * content is sent as a file instead of a page.
 */
const MAX_SHOWN_BYTES = 524_288

/** The `keyScope` of requests with the key of a form. It takes the place of the address of an anonymous caller. */
const FORM_SCOPE = 'form'
const SEND_AGAIN =
  'The content cannot be shown now. Send the same form again, for example by reloading this page. All attempts together use only one read.'

export interface PageDeps {
  readonly access: SnippetAccess
  readonly reads: SnippetReads
  readonly highlighter: Highlighter
}

export interface PageRequest extends ReadRequest {
  readonly arriving: ArrivingBody | undefined
}

export function snippetPages({ access, reads, highlighter }: PageDeps) {
  async function show(from: ReadRequest, id: string): Promise<Answer> {
    const found = await access.find(id, from.caller)
    if (from.method === 'HEAD') return htmlAnswer(200, '')
    if (found.readsLeft !== undefined) return htmlAnswer(200, revealPage(found, { key: newFormKey(), isFile: isLong(found) }))
    return await pageOf(from, found)
  }

  /**
   * Answers a submitted form. The first answer may have been lost, so submitting the same form again gives the same
   * answer.
   */
  async function reveal(request: PageRequest, id: string): Promise<Answer> {
    const from = await withFormKey(request)
    try {
      const found = await access.findForRead(from, id)
      return found.readsLeft !== undefined && isLong(found) ? await reads.asFile(from, found) : await pageOf(from, found)
    } catch (error) {
      throw from.keyScope === FORM_SCOPE && isUnavailable(error) ? withMessage(error, SEND_AGAIN) : error
    }
  }

  async function pageOf(from: ReadRequest, found: SnippetRecord): Promise<Answer> {
    const { snippet, blob } = await reads.read(from, found)
    try {
      return htmlAnswer(200, snippetPage(snippet, await shown(snippet, blob.content())))
    } finally {
      blob.close()
    }
  }

  async function shown({ bytes, language }: SnippetRecord, content: AsyncIterable<Buffer>): Promise<ShownContent> {
    const text = await answeringBlobs(() => beginningOf(content))
    const isColoured = language !== PLAINTEXT && bytes <= MAX_HIGHLIGHTED_BYTES
    const html = isColoured ? await highlighter.highlight(text, language) : undefined
    return { html: html ?? escapeHtml(text), isCut: isLong({ bytes }) }
  }

  return async function page(from: PageRequest, id: string): Promise<Answer> {
    try {
      return from.method === 'POST' ? await reveal(from, id) : await show(from, id).catch(throwForVisitor)
    } catch (error) {
      // The kit answers all other errors. Its page also shows what is wrong with the request and when to try again.
      const title = error instanceof ApiError ? TITLES[error.definition.code] : undefined
      if (!(error instanceof ApiError) || title === undefined) throw error
      return htmlAnswer(error.definition.status, errorPage(title, error.message), errorHeaders(error))
    }
  }
}

/**
 * Returns the request with the form's key as its Idempotency-Key, or unchanged if the body has no key. The key is
 * random, so it identifies an anonymous caller without the caller's address. A phone that loses the answer can
 * therefore send the form again from another network.
 */
async function withFormKey(from: PageRequest): Promise<ReadRequest> {
  const key = from.arriving === undefined ? undefined : await formKeyFrom(from.arriving)
  return key === undefined ? from : { ...from, idempotencyKey: key, keyScope: FORM_SCOPE }
}

/** Throws the error. If it is a 503, it gets the default message of its code. */
function throwForVisitor(error: unknown): never {
  throw isUnavailable(error) ? withMessage(error, error.definition.message) : error
}

/**
 * Returns the error with a message for a visitor. The original message may name a server, which visitors do not know,
 * or ask for an Idempotency-Key, which browsers cannot send.
 */
function withMessage(error: ApiError, message: string): ApiError {
  return new ApiError(error.definition, { ...error.options, message, cause: error.cause ?? error })
}

function isLong({ bytes }: Pick<SnippetRecord, 'bytes'>): boolean {
  return bytes > MAX_SHOWN_BYTES
}

const TITLES: Readonly<Record<string, string>> = { paste_not_found: 'Not found', private_paste: 'Private' }

function htmlAnswer(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer {
  const common = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': PAGE_POLICY,
    // With `no-referrer`, browsers would hide the origin of the form. The API needs this origin if a browser sends no
    // Sec-Fetch-Site.
    'Referrer-Policy': 'same-origin',
    ...PRIVATE,
  }
  return { status, headers: { ...common, ...headers }, body: body === '' ? null : body }
}

async function beginningOf(content: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of content) {
    pieces.push(piece)
    bytes += piece.byteLength
    if (bytes > MAX_SHOWN_BYTES) break
  }
  // If the cut splits a character, the streaming decoder omits the incomplete part.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(pieces).subarray(0, MAX_SHOWN_BYTES), { stream: true })
}
