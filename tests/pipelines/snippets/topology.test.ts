import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type KeyedStore, ROLL_KEY } from '../../../pipelines/engine/index.ts'
import { decisionDriver, type TestDriverOptions } from '../../../pipelines/engine/testing.ts'
import { snippets } from '../../../pipelines/snippets/topology.ts'
import { snippetFlow } from '../../../schemas/snippets/flow.ts'
import { snippetBlobs, snippetCommands, snippetTexts, snippetViewCounts } from '../../../schemas/snippets/topics.ts'
import type { NewSnippet, Snippet, SnippetCommand } from '../../../schemas/snippets/types.ts'

const MINUTE_MS = 60_000
const ID = 'abcd1234'

const snippetsDriver = (options: TestDriverOptions = {}) => decisionDriver(snippets, snippetFlow, options)
const TOPICS = [snippetFlow.commands, snippetFlow.decisions, snippetBlobs, snippetTexts, snippetViewCounts]
const ONE_PARTITION = Object.fromEntries(TOPICS.map(({ name }) => [name, 1]))

function createCommand(fields: Partial<NewSnippet> = {}, user_id: bigint | null = 42n): SnippetCommand {
  const snippet: NewSnippet = {
    username: 'alice',
    title: 'Title',
    language: 'go',
    content_size: 7,
    content_hash: 'h1',
    visibility: 'public',
    lifetime_ms: null,
    reads_left: null,
    predecessor: null,
    root: null,
    excerpt: 'content',
    ...fields,
  }
  return { action: 'create', user_id, snippet }
}
const deleteBy = (user_id: bigint | null): SnippetCommand => ({ action: 'delete', user_id, snippet: null })
const readBy = (user_id: bigint | null): SnippetCommand => ({ action: 'read', user_id, snippet: null })

describe('a snippet', () => {
  test('is created once, and its id is never reused', () => {
    const { ask, view, driver } = snippetsDriver()
    expect(ask(ID, createCommand({ lifetime_ms: MINUTE_MS }))).toEqual({
      outcome: 'created',
      snippet: { paste_id: ID, created_at: driver.now, expires_at: driver.now + MINUTE_MS, visibility: 'public', language: 'go' },
    })
    expect(view(ID)).toMatchObject({ paste_id: ID, user_id: 42n, title: 'Title', view_count: 0, excerpt: '' })
    expect(ask(ID, createCommand())).toEqual({ outcome: 'taken' })
    expect(ask(ID, deleteBy(42n))).toEqual({ outcome: 'deleted' })
    expect(ask(ID, createCommand())).toEqual({ outcome: 'taken' })
  })

  test('can be deleted only by its owner, and never if it has no owner', () => {
    const { ask, view } = snippetsDriver()
    ask(ID, createCommand())
    expect(ask(ID, deleteBy(43n))).toEqual({ outcome: 'forbidden' })
    expect(ask(ID, deleteBy(null))).toEqual({ outcome: 'forbidden' })
    expect(ask(ID, deleteBy(42n))).toEqual({ outcome: 'deleted' })
    expect(view(ID)).toMatchObject({ is_deleted: true })
    expect(ask(ID, deleteBy(42n))).toEqual({ outcome: 'not_found' })
    ask('anonymou', createCommand({}, null))
    expect(ask('anonymou', deleteBy(null))).toEqual({ outcome: 'forbidden' })
  })

  test('can be read exactly as often as its read limit allows, even across restarts', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.constantFrom('read', 'restart', 'wipe'), { maxLength: 12 }),
        (reads, steps) => {
          const { ask, view, driver } = snippetsDriver()
          ask(ID, createCommand({ reads_left: reads }))
          let granted = 0
          for (const step of steps) {
            if (step !== 'read') {
              driver.restart({ wipeState: step === 'wipe' })
              continue
            }
            const answer = ask(ID, readBy(null))
            if (answer.outcome === 'read') expect(answer.snippet).toMatchObject({ view_count: ++granted, reads_left: reads - granted })
            else expect(answer.outcome).toBe('burnt')
          }
          const asked = steps.filter((step) => step === 'read').length
          expect(granted).toBe(Math.min(reads, asked))
          expect(view(ID)?.is_deleted).toBe(asked >= reads)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('that is private can be read only by its owner', () => {
    const { ask } = snippetsDriver()
    ask(ID, createCommand({ reads_left: 1, visibility: 'private' }))
    expect(ask(ID, readBy(43n))).toEqual({ outcome: 'forbidden' })
    expect(ask(ID, readBy(null))).toEqual({ outcome: 'forbidden' })
    expect(ask(ID, readBy(42n))).toMatchObject({ outcome: 'read', snippet: { reads_left: 0 } })
  })

  test('is returned when its create command is repeated with a new paste id, but a create command without a snippet creates nothing', () => {
    const { ask, view } = snippetsDriver({ partitions: ONE_PARTITION })
    const only = { ...createCommand(), snippet: null }
    const first = ask(ID, createCommand(), { id: 'one' })
    expect(first).toMatchObject({ outcome: 'created', snippet: { paste_id: ID } })
    expect(ask('efgh5678', createCommand(), { id: 'one' })).toEqual(first)
    expect(ask('efgh5678', only, { id: 'one' })).toEqual(first)
    expect(ask('efgh5678', only, { id: 'two' })).toEqual({ outcome: 'not_found' })
    expect(view('efgh5678')).toBeUndefined()
  })

  test('that has burnt is distinguished from one that was deleted or has expired', () => {
    const { ask, driver } = snippetsDriver()
    for (const [id, lifetime_ms] of Object.entries({ burnt: null, expired: MINUTE_MS, deleted: null })) {
      ask(id, createCommand({ reads_left: 1, lifetime_ms }))
      if (id === 'deleted') ask(id, deleteBy(42n))
      else ask(id, readBy(null))
    }
    driver.advanceWallClock(MINUTE_MS)
    expect(ask('burnt', readBy(null))).toEqual({ outcome: 'burnt' })
    expect(ask('burnt', deleteBy(42n))).toEqual({ outcome: 'burnt' })
    for (const id of ['expired', 'deleted', 'nothing']) expect(ask(id, readBy(null))).toEqual({ outcome: 'not_found' })
  })

  test('that can no longer be read leaves no trace of its content or its owner in the newest records of decisions, texts and state', () => {
    const { ask, driver } = snippetsDriver()
    const fields = { deleted: {}, burnt: { reads_left: 1 }, expired: { lifetime_ms: MINUTE_MS }, kept: {} }
    const private_ = { username: 'its author', title: 'its title', content_hash: 'its hash', excerpt: 'the beginning', root: 'its root' }
    for (const [id, how] of Object.entries(fields)) ask(id, createCommand({ ...private_, ...how }))
    ask('deleted', deleteBy(42n))
    ask('burnt', readBy(null))
    driver.advanceWallClock(MINUTE_MS + 10_000)
    const texts = Object.values(private_)
    const holdersIn = (topic: string) => {
      const newest = new Map<string, string>()
      for (const { key, value } of driver.broker.records(topic))
        newest.set(String(Buffer.from(key!)), value === null ? '' : Buffer.from(value).toString('latin1'))
      return [...newest].filter(([, value]) => texts.some((text) => value.includes(text))).map(([key]) => key)
    }
    for (const topic of [`snippets-records-changelog`, snippetFlow.decisions.name, snippetTexts.name])
      expect(holdersIn(topic), topic).toEqual(['kept'])
    expect(holdersIn('snippets-decided-changelog')).toEqual([])
    const authors = new Map(driver.read(snippetTexts).map(({ key, value }) => [key, value?.user_id]))
    for (const id of Object.keys(fields)) expect(authors.get(id), id).toBe(id === 'kept' ? 42n : null)
  })

  test('that an earlier version of the service marked as deleted but did not erase is erased after the service starts', () => {
    const { ask, driver } = snippetsDriver({ partitions: ONE_PARTITION })
    ask(ID, createCommand({ title: 'its title' }))
    driver.restart()
    const records = () => driver.store<KeyedStore<string, Snippet>>('records')
    records().put(ID, { ...records().get(ID)!, is_deleted: true, excerpt: '' })
    driver.settle()
    driver.advanceWallClock(10_000)
    expect(records().get(ID)).toMatchObject({ is_deleted: true, title: null, user_id: null, content_hash: '' })
  })

  test('that was erased is followed by records that make the broker close segments, and an idle system adds no such records', () => {
    const { ask, driver } = snippetsDriver()
    const rolls = () => {
      const topics = [
        'snippets-records-changelog',
        'snippets-blobs-changelog',
        snippetFlow.decisions.name,
        snippetTexts.name,
        snippetBlobs.name,
      ]
      return topics.map((topic) => driver.broker.records(topic).filter(({ key }) => String(Buffer.from(key!)) === ROLL_KEY).length)
    }
    ask(ID, createCommand())
    driver.advanceWallClock(2 * 60 * MINUTE_MS)
    const before = rolls()
    driver.advanceWallClock(60 * MINUTE_MS)
    expect(rolls()).toEqual(before)
    ask(ID, deleteBy(42n))
    for (let passed = 0; passed < 30; passed += 5) driver.advanceWallClock(5 * MINUTE_MS)
    for (const [index, count] of rolls().entries()) expect(count - before[index]).toBe(6)
  })

  test('accepts only growing view counts, and none after it is deleted', () => {
    const { ask, view, driver } = snippetsDriver()
    ask(ID, createCommand())
    driver.pipe(snippetViewCounts, ID, { views: 5 })
    expect(view(ID)?.view_count).toBe(5)
    driver.pipe(snippetViewCounts, ID, { views: 4 })
    expect(view(ID)?.view_count).toBe(5)
    driver.pipe(snippetViewCounts, 'unknown1', { views: 4 })
    expect(view('unknown1')).toBeUndefined()
    ask(ID, deleteBy(42n))
    driver.pipe(snippetViewCounts, ID, { views: 9 })
    expect(view(ID)).toMatchObject({ view_count: 5, is_deleted: true })
  })
})

describe('expiry', () => {
  test('marks a snippet as expired within seconds, and affects commands immediately', () => {
    const { ask, view, driver } = snippetsDriver()
    ask(ID, createCommand({ lifetime_ms: 10 * MINUTE_MS, reads_left: 2 }))
    driver.advanceWallClock(10 * MINUTE_MS - 1)
    expect(view(ID)).toMatchObject({ is_expired: false })
    driver.advanceWallClock(1)
    expect(ask(ID, readBy(null))).toEqual({ outcome: 'not_found' })
    driver.advanceWallClock(10_000)
    expect(view(ID)).toMatchObject({ is_expired: true })
    driver.advanceWallClock(5 * MINUTE_MS)
    expect(view(ID)).toMatchObject({ is_expired: true, is_deleted: true })
  })

  test.each([4, 10])(
    'cleanups eventually mark all expired snippets as deleted, at most 1,000 per cleanup over all %i partitions',
    (count) => {
      const { driver } = snippetsDriver({ partitions: Object.fromEntries(TOPICS.map(({ name }) => [name, count])) })
      // Every partition has more expired snippets than a cleanup may mark in it.
      const many = 1_500
      const deadline = driver.now + MINUTE_MS
      for (let index = 0; index < many; index++) {
        const body = createCommand({ lifetime_ms: 10 * MINUTE_MS, excerpt: '' })
        driver.pipe(snippetCommands, `id${index}`, { command_id: `c${index}`, reply_to: 'x', request_hash: 'x', deadline, body })
      }
      driver.read(snippetTexts)
      const marked: number[] = []
      for (let run = 0; run < 12; run++) {
        driver.advanceWallClock(5 * MINUTE_MS)
        marked.push(driver.read(snippetTexts).filter(({ value }) => value?.is_deleted).length)
      }
      expect(Math.max(...marked)).toBe(1_000)
      expect(marked.reduce((sum, one) => sum + one, 0)).toBe(many)
    },
  )
})

describe('when a snippet changes', () => {
  test('the search index gets the title and text only of public snippets without a read limit, and drops deleted snippets', () => {
    const { ask, driver } = snippetsDriver()
    ask(ID, createCommand())
    ask('unlisted', createCommand({ visibility: 'unlisted', excerpt: '' }))
    ask('burning', createCommand({ visibility: 'public', reads_left: 1, excerpt: '' }))
    ask(ID, deleteBy(42n))
    const texts = driver.read(snippetTexts).map(({ key, value }) => [key, value?.title, value?.text, value?.is_deleted])
    expect(texts.filter(([key]) => key === ID)).toEqual([
      [ID, 'Title', 'content', false],
      [ID, '', '', true],
    ])
    for (const id of ['unlisted', 'burning']) expect(texts.filter(([key]) => key === id)).toEqual([[id, '', '', false]])
  })

  test('each partition counts the references to every blob', () => {
    type Step = { readonly kind: 'create' | 'delete' | 'read' | 'wait'; readonly id: number; readonly hash: number }
    const steps = fc.array(
      fc.record({ kind: fc.constantFrom<Step['kind']>('create', 'delete', 'read', 'wait'), id: fc.nat(3), hash: fc.nat(1) }),
      { maxLength: 25 },
    )
    fc.assert(
      fc.property(steps, (all) => {
        const { ask, view, driver } = snippetsDriver()
        const hashes = new Map<string, string>()
        for (const { kind, id, hash } of all) {
          const key = `snippet${id}`
          if (kind === 'create') {
            const fields = { content_hash: `h${hash}`, lifetime_ms: id === 0 ? MINUTE_MS : null, reads_left: id === 1 ? 1 : null }
            if (ask(key, createCommand(fields)).outcome === 'created') hashes.set(key, `h${hash}`)
          } else if (kind === 'delete') ask(key, deleteBy(42n))
          else if (kind === 'read') ask(key, readBy(42n))
          else driver.advanceWallClock(2 * MINUTE_MS)
        }
        const expected = new Map<string, number>()
        for (const [key, hash] of hashes) {
          const snippet = view(key)
          if (snippet !== undefined && !snippet.is_deleted && !snippet.is_expired) expected.set(hash, (expected.get(hash) ?? 0) + 1)
        }
        const newest = new Map<string, number>()
        for (const { key, value, partition } of driver.read(snippetBlobs)) newest.set(`${partition}:${key}`, value?.snippets ?? 0)
        const counted = new Map<string, number>()
        for (const [place, count] of newest) {
          const hash = place.slice(place.indexOf(':') + 1)
          if (count > 0) counted.set(hash, (counted.get(hash) ?? 0) + count)
        }
        expect(counted).toEqual(expected)
      }),
      { numRuns: 60 },
    )
  })
})
