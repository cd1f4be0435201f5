import { expect, test } from 'vitest'
import type { SearchCall } from '../../../state/indexes/client.ts'
import { INDEX_GONE, indexWriter, POSITION_MOVED, type WritePace } from '../../../state/indexes/writer.ts'
import { TargetUnavailableError } from '../../../state/unavailable.ts'

function world(answer: (call: SearchCall) => { status: number; body: unknown }) {
  const calls: SearchCall[] = []
  const client = {
    async call(call: SearchCall) {
      calls.push(call)
      return answer(call) as { status: number; body: never }
    },
  }
  return { calls, writer: indexWriter('notes-1.sink', client) }
}

const change = (id: string, source: string | null = '{}') => ({ id, version: 5, source })
const linesOf = (call: SearchCall) => (call.body as string).trimEnd().split('\n')
const allWell = (call: SearchCall) => ({
  status: 200,
  body: { errors: false, items: linesOf(call).map(() => ({ index: { status: 200 } })) },
})
const items = (...statuses: [number, object?][]) => ({
  status: 200,
  body: { errors: true, items: statuses.map(([status, error]) => ({ index: { status, error } })) },
})

test('documents are written with their offsets as versions, and only through an alias', async () => {
  const { calls, writer } = world(allWell)
  expect(await writer.write([change('1', '{"a":1}'), change('2', null)])).toEqual([])
  expect(calls[0].path).toContain('/notes-1.sink/_bulk?')
  expect(calls[0].path).toContain('require_alias=true')
  expect(linesOf(calls[0]).map((line) => JSON.parse(line))).toEqual([
    { index: { _id: '1', version: 5, version_type: 'external_gte' } },
    { a: 1 },
    { delete: { _id: '2', version: 5, version_type: 'external_gte' } },
  ])
})

test('batches are split by number of documents and by bytes', async () => {
  const { calls, writer } = world(allWell)
  await writer.write(Array.from({ length: 2_001 }, (_, id) => change(String(id))))
  expect(calls.map((call) => linesOf(call).length / 2)).toEqual([1_000, 1_000, 1])
  calls.length = 0
  const large = `"${'x'.repeat(2 * 1024 * 1024)}"`
  await writer.write([change('1', large), change('2', large), change('3', large)])
  expect(calls.map((call) => linesOf(call).length / 2)).toEqual([2, 1])
})

const slow: WritePace = { bulksInFlight: 1, documentsPerBulk: 250, inTurn: (send) => send() }

test.each<[string, WritePace | undefined, number]>([
  ['at full pace', undefined, 2],
  ['at a slow pace', slow, 1],
])(
  '%s, a write limits the number of bulk requests in flight, and reports a failure only when none is in flight any more',
  async (_, pace, expected) => {
    let [inFlight, most, ended] = [0, 0, 0]
    const client = {
      async call(call: SearchCall) {
        most = Math.max(most, ++inFlight)
        const isFirst = (call.body as string).includes('"_id":"0"')
        for (let turn = 0; turn < (isFirst ? 1 : 5); turn++) await Promise.resolve()
        inFlight--
        ended++
        if (isFirst) throw new TargetUnavailableError('later')
        return allWell(call) as { status: number; body: never }
      },
    }
    const changes = Array.from({ length: 5_000 }, (_, id) => change(String(id)))
    await expect(indexWriter('notes-1.sink', client, pace).write(changes)).rejects.toThrow('later')
    expect([most, inFlight, ended]).toEqual([expected, 0, expected])
  },
)

test('refused documents of several batches are reported in order', async () => {
  const mapping = { type: 'mapper_parsing_exception', reason: 'failed' }
  const { writer } = world((call) =>
    items(
      ...linesOf(call)
        .filter((_, at) => at % 2 === 0)
        .map((): [number, object] => [400, mapping]),
    ),
  )
  const refused = await writer.write(Array.from({ length: 2_500 }, (_, id) => change(String(id))))
  expect(refused).toEqual(Array.from({ length: 2_500 }, (_, at) => ({ at, reason: 'mapper_parsing_exception: failed' })))
})

test('changes with stale versions and deletions of missing documents succeed; refused documents are reported with their positions', async () => {
  const mapping = { type: 'mapper_parsing_exception', reason: 'failed to parse', caused_by: { reason: 'not a number' } }
  const { writer } = world(() => items([409, { type: 'version_conflict_engine_exception' }], [404], [400, mapping], [200]))
  expect(await writer.write([change('1'), change('2', null), change('3'), change('4')])).toEqual([
    { at: 2, reason: 'mapper_parsing_exception: failed to parse: not a number' },
  ])
})

test.each([429, 403, 503])('if an item of a bulk response has status %i, the write reports an unavailable target', async (status) => {
  const { writer } = world(() => items([200], [status, { type: 'x', reason: 'later' }]))
  await expect(writer.write([change('1'), change('2')])).rejects.toThrow(TargetUnavailableError)
})

test('writing to a missing index does not throw, but reports that the index is gone', async () => {
  const gone = { type: 'index_not_found_exception', reason: 'no such index' }
  const { writer } = world((call) => (call.path.includes('_bulk') ? items([404, gone]) : { status: 404, body: { error: gone } }))
  expect(await writer.write([change('1')])).toBe(INDEX_GONE)
  expect(await writer.position('notes', 0)).toBe(INDEX_GONE)
  expect(await writer.putPosition({ topic: 'notes', partition: 0, topicId: 't', next: 1 }, undefined)).toBe(INDEX_GONE)
})

test('a position is stored only if no other process has stored one in the meantime', async () => {
  const { calls, writer } = world(({ method }) =>
    method === 'GET'
      ? { status: 404, body: { found: false } }
      : { status: calls.length > 2 ? 409 : 201, body: { _seq_no: 7, _primary_term: 2 } },
  )
  expect(await writer.position('notes', 3)).toBeUndefined()
  const place = { topic: 'notes', partition: 3, topicId: 't', next: 9 }
  const stamp = await writer.putPosition(place, undefined)
  expect(stamp).toEqual({ seqNo: 7, primaryTerm: 2 })
  expect(calls[1].path).toContain('op_type=create')
  expect(calls[1].body).toEqual({ sink_position: { topic_id: 't', next: 9 } })
  expect(await writer.putPosition(place, { seqNo: 7, primaryTerm: 2 })).toBe(POSITION_MOVED)
  expect(calls[2].path).toContain('if_seq_no=7&if_primary_term=2')
})
