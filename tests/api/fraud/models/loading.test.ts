import { expect, test } from 'vitest'
import { readModelFolders } from '../../../../api/fraud/models/folder.ts'
import { modelLoading } from '../../../../api/fraud/models/loading.ts'
import { KIND, type LoadRequest } from '../../../../api/fraud/models/wire.ts'
import type { ChildLink } from '../../../../api/kit/child/link.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'

test('a challenger that is too slow to score alongside the champion is left out, but an equally slow champion is used', async () => {
  const { available } = await readModelFolders(undefined)
  const next = available.map((model) => ({ ...model, manifest: { ...model.manifest, version: '2', sha256: `${model.manifest.sha256} 2` } }))
  async function request(kind: number, body: Buffer) {
    const { slowestMs = Number.POSITIVE_INFINITY }: LoadRequest = JSON.parse(body.toString())
    const tookMs = 40
    return Buffer.from(JSON.stringify(kind === KIND.load && tookMs > slowestMs ? { refused: 'The model is too slow.' } : {}))
  }
  let refusals = 0
  const readFolders = async () => ({ available: [...available, ...next], broken: [] })
  const loading = modelLoading({ readFolders, log: createLogger('silent'), onRefused: () => refusals++ })
  const assignment = { champion: {}, challenger: { payment_fraud: '2' } }
  const active = await loading.load({ request } as unknown as ChildLink, assignment, DEFAULT_POLICY)
  expect(active).toMatchObject({ champion: [0, 1, 2], challenger: undefined })
  expect(active.refusedChallenger).toEqual({ versions: { payment_fraud: '2' }, reason: 'payment_fraud 2: The model is too slow.' })
  expect(refusals).toBe(1)
})
