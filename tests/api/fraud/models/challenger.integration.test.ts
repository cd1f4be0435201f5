import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openModels } from '../../../../api/fraud/models/open.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import { isChallengersShare } from '../../../../schemas/fraud/models/share.ts'
import { settingsApi } from '../settings/harness.ts'
import { inputOf } from './input.ts'

const SHIPPED = 'schemas/fraud/models/shipped'
const WITHIN = { timeout: 30_000, interval: 20 }
const SHIPPED_VERSIONS = { account_takeover: '1', payment_fraud: '1', money_laundering: '1' }

/** Creates an operator's model folder that contains a shipped model as version 2. */
async function folderWithNext(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'challenger-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const manifest = JSON.parse(await readFile(`${SHIPPED}/payment_fraud-1.json`, 'utf8'))
  await writeFile(join(folder, manifest.file), await readFile(`${SHIPPED}/${manifest.file}`))
  await writeFile(join(folder, 'next.json'), JSON.stringify({ ...manifest, version: '2' }))
  return folder
}

test('a challenger that was put on trial through the API scores its share of the transactions, while the champion and its policy decide', async () => {
  const { send, settings } = await settingsApi()
  const modelsDir = await folderWithNext()
  const models = openModels({ settings, modelsDir, log: createLogger('silent'), registry: new Registry() })
  onTestFinished(() => models.close() as Promise<void>)
  const ids = Array.from({ length: 400 }, (_, index) => `t${index}`)
  const isMine = new Map(ids.map((id) => [id, isChallengersShare(id)]))
  const mine = ids.filter(isChallengersShare)
  expect(mine.length / ids.length).toBeGreaterThan(0.02)
  expect(mine.length / ids.length).toBeLessThan(0.08)

  expect((await send('POST', 'models/challenger', { body: { versions: { payment_fraud: '2' } } })).status).toBe(200)
  await vi.waitFor(async () => expect((await models.score(inputOf({ id: mine[0] })))?.challenger).toBeDefined(), WITHIN)
  for (const id of [...mine, ...ids.filter((id) => !isMine.get(id)).slice(0, mine.length)]) {
    const outcome = await vi.waitFor(async () => (await models.score(inputOf({ id }))) ?? expect.fail('the process was late'), WITHIN)
    expect(outcome.challenger !== undefined, id).toBe(isMine.get(id))
    expect(outcome).toMatchObject({ versions: SHIPPED_VERSIONS, policy: DEFAULT_POLICY })
  }

  expect((await send('POST', 'models/challenger', { body: { versions: null } })).status).toBe(200)
  await vi.waitFor(async () => {
    expect(await models.score(inputOf({ id: mine[0] }))).toMatchObject({ versions: SHIPPED_VERSIONS, challenger: undefined })
  }, WITHIN)
})
