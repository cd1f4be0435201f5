import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InferenceSession } from 'onnxruntime-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { loadModel } from '../../../../api/fraud/models/process/model.ts'

const SHIPPED = 'schemas/fraud/models/shipped/payment_fraud-1'

test('a model that does not reproduce its test vectors is refused, and its memory is freed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'model-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const manifest = JSON.parse(await readFile(`${SHIPPED}.json`, 'utf8'))
  const golden = { ...manifest.golden, scores: manifest.golden.scores.map((score: number) => 1 - score) }
  await writeFile(join(folder, manifest.file), await readFile(`${SHIPPED}.onnx`))
  await writeFile(join(folder, 'wrong.json'), JSON.stringify({ ...manifest, golden }))
  const created = vi.spyOn(InferenceSession, 'create')
  onTestFinished(() => created.mockRestore())
  const release = vi.fn()
  created.mockImplementationOnce(async (bytes: unknown, options: unknown) => {
    created.mockRestore()
    const session = await InferenceSession.create(bytes as Uint8Array, options as InferenceSession.SessionOptions)
    return Object.assign(session, { release })
  })
  await expect(loadModel(join(folder, 'wrong.json'))).rejects.toThrow('for its test vector 0')
  expect(release).toHaveBeenCalledOnce()
})

test('a model that takes longer than its time limit is refused', async () => {
  await expect(loadModel(`${SHIPPED}.json`, undefined, 0)).rejects.toThrow('ms for 1 rows instead of at most 0')
})

test('a model whose manifest was replaced before its file is refused, and the error contains the hash from the new manifest', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'model-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const manifest = JSON.parse(await readFile(`${SHIPPED}.json`, 'utf8'))
  await writeFile(join(folder, manifest.file), await readFile(`${SHIPPED}.onnx`))
  const next = 'ab'.repeat(32)
  await writeFile(join(folder, 'next.json'), JSON.stringify({ ...manifest, sha256: next }))
  await expect(loadModel(join(folder, 'next.json'), manifest.sha256)).rejects.toThrow(
    `its SHA-256 is ${manifest.sha256} instead of ${next}`,
  )
})
