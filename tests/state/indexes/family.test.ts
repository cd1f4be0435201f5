import { expect, test } from 'vitest'
import type { SearchCall } from '../../../state/indexes/client.ts'
import { indexFamily } from '../../../state/indexes/family.ts'
import type { Index } from '../../../state/indexes/search-index.ts'

const notes: Index<string, string> = {
  name: 'notes',
  version: 1,
  settings: { refresh_interval: '50ms' },
  mappings: { properties: { text: { type: 'text' } } },
  documentOf: (_key, text) => ({ text }),
}

test('a new index remembers deletions for an hour and is not refreshed', async () => {
  const calls: SearchCall[] = []
  const client = {
    async call(call: SearchCall) {
      calls.push(call)
      return { status: 200, body: {} }
    },
  }
  const created = await indexFamily(notes, client).create({ definition: 'd', topicId: 't' }, 'token', 7)
  expect(created).toBe('notes-7')
  const { body } = calls.find(({ method }) => method === 'PUT')!
  expect(body).toMatchObject({ settings: { index: { gc_deletes: '1h', refresh_interval: '-1' } } })
})
