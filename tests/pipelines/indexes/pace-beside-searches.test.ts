import { expect, test } from 'vitest'
import { paceBesideSearches } from '../../../pipelines/indexes/pace-beside-searches.ts'
import { type DocumentChange, indexWriter } from '../../../state/indexes/writer.ts'

const MS_PER_BULK = 40
const MAX_PAUSE_MS = 2_000

function world({ msPerBulk = MS_PER_BULK, status = 200 } = {}) {
  const events: string[] = []
  let now = 0
  const runtime = {
    monotonic: () => now,
    async sleep(ms: number) {
      events.push(`pause ${ms}`)
      now += ms
    },
  }
  const pace = paceBesideSearches(runtime, new AbortController().signal)
  const client = {
    async call({ body }: { body?: unknown }) {
      const lines = (body as string).trimEnd().split('\n')
      events.push(`bulk ${lines.length / 2}`)
      now += msPerBulk
      return { status, body: { errors: false, items: [] } as never }
    },
  }
  return { events, writer: indexWriter('notes-1.builder', client, pace) }
}

const changes = Array.from({ length: 600 }, (_, id): DocumentChange => ({ id: String(id), version: 1, source: '{}' }))

test('a writer that fills an index while searches are served pauses after each small bulk for as long as the bulk took', async () => {
  const { events, writer } = world()
  expect(await writer.write(changes)).toEqual([])
  expect(events).toEqual(['bulk 250', 'pause 40', 'bulk 250', 'pause 40', 'bulk 100', 'pause 40'])
})

test('a pause has an upper limit', async () => {
  const { events, writer } = world({ msPerBulk: 60_000 })
  await writer.write(changes.slice(0, 1))
  expect(events).toEqual(['bulk 1', `pause ${MAX_PAUSE_MS}`])
})

test('a pause follows a bulk even if the bulk failed', async () => {
  const { events, writer } = world({ status: 503 })
  await expect(writer.write(changes)).rejects.toThrow('answered 503')
  expect(events).toEqual(['bulk 250', 'pause 40'])
})
