import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { openInForce } from '../../../tools/recommendations/train/in-force.ts'
import { publishBundle, type TestBundle } from '../../api/recommendations/model/bundle.ts'
import { versionsWorld } from '../../state/versions/world.ts'

const { blobs, folder } = versionsWorld()
const place = () => ({ blobs, folder: `${folder}-${randomUUID()}` })
const publish = (sequence: number, more: Partial<TestBundle> = {}) =>
  publishBundle(blobs, { sequence, trainedAt: sequence, axes: new Map([[1n, 0]]), ...more })

test('a candidate is compared with the version in force', async () => {
  const version = await publish(1)
  const model = await openInForce(version, place())
  expect(model?.version).toBe(version.version)
  model?.close()
})

test('a bundle that the APIs refuse, such as one of an older format, is compared as the rules are', async () => {
  expect(await openInForce(await publish(2, { dimensions: 128 }), place())).toBeUndefined()
})

test('files that cannot be fetched end the training, because a later one may have them', async () => {
  const away = { open: async () => undefined }
  await expect(openInForce(await publish(3), { ...place(), blobs: away })).rejects.toThrow('is not stored')
})
