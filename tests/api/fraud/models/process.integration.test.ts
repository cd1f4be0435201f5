import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { ModelAssignment, ModelOutcome } from '../../../../api/fraud/in-force.ts'
import { type OpenModels, openModels } from '../../../../api/fraud/models/open.ts'
import { KIND } from '../../../../api/fraud/models/wire.ts'
import { type ChildLink, startChild } from '../../../../api/kit/child/link.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { DEFAULT_POLICY, MODELS } from '../../../../schemas/fraud/decision/policy.ts'
import type { ModelInput } from '../../../../schemas/fraud/models/inputs.ts'
import { isChallengersShare } from '../../../../schemas/fraud/models/share.ts'
import { ruledTraffic } from '../../../../tools/fraud/patterns/judge.ts'
import { generateTraffic } from '../../../../tools/fraud/patterns/traffic.ts'
import { suspend } from '../../../stack/suspend.ts'
import { inputOf } from './input.ts'

const SHIPPED = 'schemas/fraud/models/shipped'
const WITHIN = { timeout: 30_000, interval: 20 }

const settings = { models: { champion: {}, challenger: undefined } as ModelAssignment, policy: DEFAULT_POLICY }
let folder: string
let models: OpenModels
const registry = new Registry()

/** Copies a shipped model as another version, and applies `change` to its bytes. */
async function copyModel(name: string, version: string, change: (bytes: Buffer) => Buffer = (bytes) => bytes) {
  const manifest = JSON.parse(await readFile(`${SHIPPED}/${name}-1.json`, 'utf8'))
  const file = `${name}-${version}.onnx`
  await writeFile(join(folder, file), change(await readFile(`${SHIPPED}/${name}-1.onnx`)))
  await writeFile(join(folder, `${name}-${version}.json`), JSON.stringify({ ...manifest, version, file }))
}

/** Scores an input. Repeats this until the process answers in time, because answers may be late on a busy machine. */
function scored(input: ModelInput): Promise<ModelOutcome> {
  return vi.waitFor(async () => {
    const outcome = await models.score(input)
    expect(outcome).toBeDefined()
    return outcome!
  }, WITHIN)
}

function childPids(): number[] {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return children.map(Number).filter((pid) => {
    try {
      const [, parent] = /\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!
      return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('models/process/main.ts')
    } catch {
      return false
    }
  })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'models-'))
  models = openModels({ settings, modelsDir: folder, log: createLogger('silent'), registry })
  await vi.waitFor(async () => expect(await models.score(inputOf())).toBeDefined(), WITHIN)
})

afterAll(async () => {
  await models.close()
  await rm(folder, { recursive: true })
})

test('the shipped models score a small payment as harmless and name the factors of card testing', async () => {
  const harmless = await scored(inputOf({ amount: 20, device: 'd1' }))
  for (const name of MODELS) expect(harmless.scores[name]).toBeLessThan(0.05)
  expect(harmless).toMatchObject({ versions: { payment_fraud: '1' }, policy: DEFAULT_POLICY, challenger: undefined, factors: [] })
  const traffic = ruledTraffic(generateTraffic({ seed: 77, people: 60, days: 12, occurrences: 2 }))
  const { input } = [...traffic].findLast(({ payment }) => payment.pattern === 'card_testing')!
  const testing = await scored(input)
  expect(testing.scores.payment_fraud).toBeGreaterThan(0.5)
  expect(testing.factors.length).toBeGreaterThan(0)
  expect(testing.factors.length).toBeLessThanOrEqual(5)
  const contributions = testing.factors.map(({ contribution }) => contribution)
  expect(contributions).toEqual(contributions.toSorted((one, other) => other - one))
})

test('a killed process is replaced, and the call that it had not answered does not fail', async () => {
  const [pid] = childPids()
  const before = models.score(inputOf())
  process.kill(pid, 'SIGKILL')
  await before
  await vi.waitFor(async () => {
    const outcome = await models.score(inputOf())
    expect(childPids()).not.toContain(pid)
    expect(outcome).toBeDefined()
  }, WITHIN)
  expect(await registry.getSingleMetricAsString('fraud_model_restarts_total')).toMatch(/fraud_model_restarts_total [1-9]/)
})

test('after three late batches, a suspended process no longer delays requests, and it is replaced', async () => {
  const [pid] = childPids()
  await suspend(pid)
  for (let batch = 0; batch < 3; batch++) expect(await models.score(inputOf())).toBeUndefined()
  const metric = await registry.getSingleMetricAsString('fraud_model_unscored_total')
  expect(metric).toContain('reason="late"')
  expect(await models.score(inputOf())).toBeUndefined()
  await vi.waitFor(async () => {
    expect(await models.score(inputOf())).toBeDefined()
    expect(childPids()).not.toContain(pid)
  }, WITHIN)
  expect(await registry.getSingleMetricAsString('fraud_model_unscored_total')).toContain('reason="circuit_open"')
})

test('a process that cannot load the assigned models scores with the shipped models and their policy', async () => {
  const absent = { models: { champion: { payment_fraud: 'absent' }, challenger: undefined }, policy: { ...DEFAULT_POLICY, version: 9 } }
  const others = openModels({ settings: absent, modelsDir: folder, log: createLogger('silent'), registry: new Registry() })
  onTestFinished(() => others.close() as Promise<void>)
  await vi.waitFor(async () => {
    expect(await others.score(inputOf())).toMatchObject({ versions: { payment_fraud: '1' }, policy: DEFAULT_POLICY })
  }, WITHIN)
})

test('a challenger is loaded even while the champion cannot be loaded, and a refused challenger is reported', async () => {
  await copyModel('money_laundering', 'trial')
  const champion = { payment_fraud: 'absent' }
  const own = {
    models: { champion, challenger: { payment_fraud: '1', money_laundering: 'trial' } } as ModelAssignment,
    policy: DEFAULT_POLICY,
  }
  const others = openModels({ settings: own, modelsDir: folder, log: createLogger('silent'), registry: new Registry() })
  onTestFinished(() => others.close() as Promise<void>)
  await vi.waitFor(() => expect(others.active).toMatchObject({ versions: { payment_fraud: '1' }, challenger: expect.anything() }), WITHIN)
  const refused = { payment_fraud: 'absent', money_laundering: 'trial' }
  own.models = { champion, challenger: refused }
  await vi.waitFor(() => {
    expect(others.active?.refusedChallenger).toEqual({ versions: refused, reason: 'there is no model payment_fraud absent' })
  }, WITHIN)
})

test('models that were replaced are unloaded, and can be loaded again', async () => {
  await copyModel('payment_fraud', 'next')
  const own = { ...settings, models: { champion: {}, challenger: undefined } as ModelAssignment }
  const unloaded: unknown[] = []
  let loads = 0
  function start(): ChildLink {
    const child = startChild({ file: resolve('api/fraud/models/process/main.ts'), onLine: () => {} })
    return {
      ...child,
      request(kind, body) {
        if (kind === KIND.load) loads++
        if (kind === KIND.unload) unloaded.push(JSON.parse(body.toString()))
        return child.request(kind, body)
      },
    }
  }
  const others = openModels({ settings: own, modelsDir: folder, log: createLogger('silent'), registry: new Registry(), start })
  onTestFinished(() => others.close() as Promise<void>)
  const versionOf = async () => (await others.score(inputOf()))?.versions.payment_fraud
  await vi.waitFor(async () => expect(await versionOf()).toBe('1'), WITHIN)
  for (const version of ['next', '1']) {
    own.models = { champion: { payment_fraud: version }, challenger: undefined }
    await vi.waitFor(async () => expect(await versionOf()).toBe(version), WITHIN)
  }
  await vi.waitFor(() => expect(unloaded).toEqual([{ numbers: [1] }, { numbers: [3] }]), WITHIN)
  expect(loads).toBe(5)
})

test('if the models in use no longer exist when the process is replaced, the shipped models score', async () => {
  await copyModel('account_takeover', 'gone')
  const own = { models: { champion: { account_takeover: 'gone' }, challenger: undefined }, policy: { ...DEFAULT_POLICY, version: 9 } }
  const children: ChildLink[] = []
  function start(): ChildLink {
    children.push(startChild({ file: resolve('api/fraud/models/process/main.ts'), onLine: () => undefined }))
    return children.at(-1)!
  }
  const others = openModels({ settings: own, modelsDir: folder, log: createLogger('silent'), registry: new Registry(), start })
  onTestFinished(() => others.close() as Promise<void>)
  const scoredBy = (versions: object, policy: object) =>
    vi.waitFor(async () => expect(await others.score(inputOf())).toMatchObject({ versions, policy }), WITHIN)
  await scoredBy({ account_takeover: 'gone' }, { version: 9 })
  await rm(join(folder, 'account_takeover-gone.json'))
  children[0].kill()
  await scoredBy({ account_takeover: '1' }, DEFAULT_POLICY)
})

test('a changed assignment takes effect together with its policy', async () => {
  await copyModel('payment_fraud', 'next')
  const policy = { ...DEFAULT_POLICY, version: 5 }
  Object.assign(settings, { models: { champion: { payment_fraud: 'next' }, challenger: undefined }, policy })
  await vi.waitFor(async () => {
    const outcome = await models.score(inputOf())
    expect(outcome).toMatchObject({ versions: { payment_fraud: 'next', account_takeover: '1' }, policy: { version: 5 } })
  }, WITHIN)
})

test.each<[string, (bytes: Buffer) => Buffer]>([
  ['changed file', (bytes) => Buffer.concat([bytes, Buffer.from([0])])],
  ['truncated file', (bytes) => bytes.subarray(0, 1_000)],
])('a %s is refused, and the earlier models stay in force with their policy', async (name, change) => {
  const version = name.replace(' ', '-')
  await copyModel('account_takeover', version, change)
  const refusals = async () => Number(/refusals_total (\d+)/.exec(await registry.getSingleMetricAsString('fraud_model_refusals_total'))![1])
  const before = await refusals()
  const policy = { ...DEFAULT_POLICY, version: 6 }
  Object.assign(settings, { models: { champion: { account_takeover: version }, challenger: undefined }, policy })
  await vi.waitFor(async () => expect(await refusals()).toBeGreaterThan(before), WITHIN)
  const outcome = await scored(inputOf())
  expect(outcome).toMatchObject({ versions: { payment_fraud: 'next', account_takeover: '1' }, policy: { version: 5 } })
})

test('a challenger scores only its share of the transactions, and a challenger that cannot be loaded is left out', async () => {
  await copyModel('money_laundering', 'challenger')
  const champion = { payment_fraud: 'next' }
  const policy = { ...DEFAULT_POLICY, version: 7 }
  Object.assign(settings, { models: { champion, challenger: { money_laundering: 'challenger' } }, policy })
  const ids = Array.from({ length: 100 }, (_, index) => `t${index}`)
  const mine = ids.find(isChallengersShare)!
  const others = ids.find((id) => !isChallengersShare(id))!
  await vi.waitFor(async () => expect((await models.score(inputOf({ id: mine })))?.challenger).toBeDefined(), WITHIN)
  const outcome = await scored(inputOf({ id: others }))
  expect(outcome.challenger).toBeUndefined()
  Object.assign(settings, { models: { champion, challenger: { money_laundering: 'absent' } }, policy: { ...policy, version: 8 } })
  await vi.waitFor(async () => {
    expect(await models.score(inputOf({ id: mine }))).toMatchObject({ policy: { version: 8 }, challenger: undefined })
  }, WITHIN)
})
