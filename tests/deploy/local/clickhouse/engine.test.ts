import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openEngine } from '../../../../deploy/local/clickhouse/engine.ts'

const NOT_ENOUGH_SPACE = 243

vi.mock('chdb', () => ({
  drainPending: async () => {},
  Session: class {
    queryAsync = async () => {}
    close() {}
  },
}))

vi.mock(import('node:fs/promises'), async (original) => ({
  ...(await original()),
  async writeFile() {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  },
}))

test('an insert into a full disk fails with the error by which clients know that they should try again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'engine-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const engine = await openEngine(folder)
  onTestFinished(engine.close)
  const nothing = new Map<string, string>()
  const insert = engine.execute({
    sql: 'INSERT INTO events FORMAT JSONEachRow',
    data: Buffer.from('{}'),
    database: undefined,
    settings: nothing,
    parameters: nothing,
    defaultFormat: 'TabSeparated',
    readOnly: false,
  })
  await expect(insert).rejects.toMatchObject({ code: NOT_ENOUGH_SPACE })
})
