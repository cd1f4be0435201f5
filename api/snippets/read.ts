import type { SnippetRead } from '../../schemas/snippets/types.ts'
import { readVersions, type SnippetRecord } from '../../state/views/snippets/snippets.ts'
import type { ListReader, ViewReader } from '../../state/views/view.ts'
import type { Answer } from '../kit/answer.ts'
import type { Caller } from '../kit/auth/verify.ts'
import type { CommandRequest } from '../kit/commands/commands.ts'
import { isUnchanged } from '../kit/conditional.ts'
import { ApiError } from '../kit/errors.ts'
import { PRIVATE } from '../kit/headers.ts'
import { caughtUp } from '../kit/readiness.ts'
import { isOwner, type SnippetAccess } from './access.ts'
import { snippetErrors } from './errors.ts'
import { isSnippetId } from './ids.ts'
import { snippetJson } from './json.ts'
import {
  answeringBlobs,
  type Contents,
  jsonWithContent,
  type OpenContent,
  openChecked,
  openContent,
  readContent,
} from './stored-content.ts'

export interface ReadDeps {
  readonly access: SnippetAccess
  readonly contents: Contents
  readonly views: ViewReader & ListReader
  /** Counts a read without waiting. */
  readonly counted: { offer(id: string, read: SnippetRead): boolean }
  /** Epoch ms. */
  now(): number
}

export interface ReadRequest extends CommandRequest {
  /** The session that identifies the caller; undefined for an anonymous caller, and for a caller that sent a token. */
  readonly session: object | undefined
  readonly method: string
  readonly ifNoneMatch: string | undefined
  /** Whether the request is a prefetch or comes from a robot, such as a link preview. */
  isSpeculative(): boolean
  /** Whether a browser opens the address in order to show the answer as a page. */
  isNavigation(): boolean
}

/** One read of a snippet: the state of the snippet after this read, and the content. */
export interface SnippetReading {
  readonly snippet: SnippetRecord
  readonly blob: OpenContent
}

const JSON_HEADERS = { 'Content-Type': 'application/json; charset=utf-8', ...PRIVATE }
const RAW_HEADERS = {
  'Content-Type': 'text/plain; charset=utf-8',
  // Prevents browsers from executing stored content.
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
}

export function snippetReads({ access, contents, views, counted, now }: ReadDeps) {
  /**
   * Opens the content, and then counts the read. A speculative read is counted only if reads are limited. For a snippet
   * with limited reads, also extends the life of its blob, because nothing refers to the blob after the last read.
   * While the blob exists, a caller who did not receive the answer can repeat the request. After the last read,
   * repetitions do not extend the life of the blob.
   */
  async function read(from: ReadRequest, snippet: SnippetRecord): Promise<SnippetReading> {
    if (snippet.readsLeft === undefined) {
      const blob = await openContent(contents, snippet, from.address)
      if (!from.isSpeculative()) counted.offer(snippet.id, { read_at: now() })
      return { snippet, blob }
    }
    const blob = await openChecked(contents, snippet, from.address)
    try {
      if (snippet.readsLeft > 0) await answeringBlobs(() => contents.blobs.touch(snippet.hash))
      return { snippet: await access.takeRead(from, snippet), blob }
    } catch (error) {
      blob.close()
      throw error
    }
  }

  async function asJson(from: ReadRequest, id: string): Promise<Answer> {
    const isHead = from.method === 'HEAD'
    // The later versions are read in parallel with the snippet. They are indexed by the id of the first version, and
    // most requests name a first version.
    const ofFirst = isHead || !isSnippetId(id) ? undefined : laterVersions(id)
    ofFirst?.catch(() => undefined)
    if (isHead) {
      await access.find(id, from.caller)
      return { status: 200, headers: JSON_HEADERS, body: null }
    }
    const found = await access.findForRead(from, id)
    if (asksFirst(from, found)) return toPage(found)
    const later = found.root === undefined ? await ofFirst! : await laterVersions(found.root)
    const versions = await shownVersions(found, later, from.caller)
    const predecessor = await shownPredecessor(found, versions, from.caller)
    const { snippet, blob } = await read(from, found)
    const fields = snippetJson({ ...snippet, predecessor }, versions)
    const content = await readContent(blob, snippet)
    if (content.kind === 'whole')
      return { status: 200, headers: JSON_HEADERS, body: JSON.stringify({ ...fields, content: content.bytes.toString() }) }
    return { status: 200, headers: JSON_HEADERS, body: streamOf(jsonWithContent(fields, content.pieces), blob) }
  }

  async function asText(from: ReadRequest, id: string): Promise<Answer> {
    const isHead = from.method === 'HEAD'
    const found = isHead ? await access.find(id, from.caller) : await access.findForRead(from, id)
    if (!isHead && asksFirst(from, found)) return toPage(found)
    return await textAnswer(from, found)
  }

  /** Returns the complete content as a file that browsers save. */
  async function asFile(from: ReadRequest, found: SnippetRecord): Promise<Answer> {
    const answer = await textAnswer(from, found)
    return { ...answer, headers: { ...answer.headers, 'Content-Disposition': `attachment; filename="${found.id}.txt"` } }
  }

  async function textAnswer(from: ReadRequest, found: SnippetRecord): Promise<Answer> {
    const isHead = from.method === 'HEAD'
    const burns = found.readsLeft !== undefined
    const ETag = `"${found.hash}"`
    const headers: Record<string, string> = burns
      ? { ...RAW_HEADERS, ...PRIVATE }
      : { ...RAW_HEADERS, ETag, 'Cache-Control': 'private, no-cache' }
    if (isHead) return { status: 200, headers: { ...headers, 'Content-Length': String(found.bytes) }, body: null }
    // The kit turns this answer into a 304.
    if (!burns && from.ifNoneMatch !== undefined && isUnchanged(from.ifNoneMatch, ETag)) return { status: 200, headers, body: null }
    const { snippet, blob } = await read(from, found)
    const content = await readContent(blob, snippet)
    if (content.kind === 'whole') return { status: 200, headers, body: content.bytes }
    return { status: 200, headers: { ...headers, 'Content-Length': String(snippet.bytes) }, body: streamOf(content.pieces, blob) }
  }

  /** Returns the newest versions, at most MAX_VERSIONS, without the first version. */
  async function laterVersions(root: string): Promise<SnippetRecord[]> {
    return caughtUp(await readVersions(views, access.partitionOf(root), root))
  }

  /**
   * Returns the versions that the caller may see; empty if the caller may see no other version. A list of one version
   * would reveal that there are hidden versions.
   */
  async function shownVersions(snippet: SnippetRecord, later: SnippetRecord[], caller: Caller | undefined): Promise<SnippetRecord[]> {
    if (later.length === 0) return []
    const root = snippet.root ?? snippet.id
    const first = snippet.root === undefined ? snippet : await access.find(root, caller).catch(unlessHidden)
    const all = [...(first === undefined ? [] : [first]), ...later]
    const shown = all.filter((version) => version.id === snippet.id || isShown(version, snippet, caller))
    return shown.some((version) => version.id !== snippet.id) ? shown : []
  }

  /**
   * Returns the predecessor's id; undefined if there is no predecessor or the caller may not see it. The id of a hidden
   * version must stay secret, because everybody who knows the id of an unlisted snippet can read the snippet.
   */
  async function shownPredecessor(
    snippet: SnippetRecord,
    versions: readonly SnippetRecord[],
    caller: Caller | undefined,
  ): Promise<string | undefined> {
    const { predecessor: id } = snippet
    if (id === undefined || isOwner(snippet, caller) || versions.some((version) => version.id === id)) return id
    // The list of versions is limited, so it may lack a predecessor that the caller may see.
    const predecessor = await access.find(id, caller).catch(unlessHidden)
    return predecessor !== undefined && isShown(predecessor, snippet, caller) ? id : undefined
  }

  /**
   * Returns whether a reader of `snippet` may learn the id of another version of it. Nobody sees expired versions.
   * Owners see all versions that have not expired.
   */
  function isShown(version: SnippetRecord, snippet: SnippetRecord, caller: Caller | undefined): boolean {
    if (!access.isAlive(version)) return false
    if (isOwner(snippet, caller)) return true
    // Versions with limited reads are not shown, because strangers could use up the reads. Readers of a public version
    // must not learn the ids of unlisted versions.
    return version.readsLeft === undefined && (version.visibility === 'public' || version.visibility === snippet.visibility)
  }

  return { read, asJson, asText, asFile }
}

/** Ignores the error if a version does not exist or the caller may not see it. Rethrows all other errors. */
function unlessHidden(error: unknown): undefined {
  const isHidden =
    error instanceof ApiError && [snippetErrors.paste_not_found, snippetErrors.private_paste].some((code) => code === error.definition)
  if (!isHidden) throw error
}

export type SnippetReads = ReturnType<typeof snippetReads>

/**
 * Returns whether a person should first confirm the read on the page. Prefetches, link previews and browsers that open
 * the address would otherwise use up limited reads unintentionally, and many previews look like browsers. A token or an
 * Idempotency-Key proves that the caller intends to read. A session does not, because browsers send its cookie on their
 * own.
 */
function asksFirst(from: ReadRequest, { readsLeft }: SnippetRecord): boolean {
  const hasToken = from.caller !== undefined && from.session === undefined
  if (readsLeft === undefined || hasToken || from.idempotencyKey !== undefined) return false
  return from.isSpeculative() || from.isNavigation()
}

function toPage({ id }: SnippetRecord): Answer {
  return { status: 303, headers: { Location: `/p/${id}`, ...PRIVATE }, body: null }
}

/**
 * Streams the content as fast as the client reads it. Always closes the blob. If the content is damaged, or if the
 * transfer loses its slot, the response is cut off.
 */
function streamOf(pieces: AsyncIterable<Uint8Array>, blob: OpenContent): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // The response is cut off at once. Otherwise, a client that has stopped reading would keep its connection open.
        blob.cut?.addEventListener('abort', () => controller.error(blob.cut?.reason))
      },
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        blob.close()
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
