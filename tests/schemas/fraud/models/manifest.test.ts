import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MODELS } from '../../../../schemas/fraud/decision/policy.ts'
import { type ModelManifest, parseManifest } from '../../../../schemas/fraud/models/manifest.ts'
import shipped from '../../../../schemas/fraud/models/shipped/default.json' with { type: 'json' }

const MANIFEST: ModelManifest = {
  name: 'payment_fraud',
  version: '2',
  file: 'payment_fraud-2.onnx',
  sha256: 'a'.repeat(64),
  input: 'inputs',
  output: 'probabilities',
  features: ['txn.amount_usd', 'geo.impossible_travel'],
  typical: [20, null],
  golden: { vectors: [[1, 0], [2, 1], [3, null], [null, null]], scores: [0, 0.5, 0.7, 1], tolerance: 1e-5 }, // biome-ignore format: short
  trained_on: 'a test',
  alone: { medium: 0.2, high: 0.5 },
}

test('a manifest is read as it was written', () => {
  expect(parseManifest(JSON.stringify(MANIFEST))).toEqual(MANIFEST)
})

test('thresholds that are null, as the API shows absent thresholds, count as absent', () => {
  const { alone } = parseManifest(JSON.stringify({ ...MANIFEST, alone: { medium: null, high: 0.5, critical: null } }))
  expect(alone).toEqual({ high: 0.5 })
})

test.each<[object, string]>([
  [{ name: 'other' }, 'name must be one of'],
  [{ version: 'a b' }, 'version must be'],
  [{ file: '../secret.onnx' }, 'file must be'],
  [{ sha256: 'A'.repeat(64) }, 'sha256 must be'],
  [{ input: undefined }, 'input and output'],
  [{ features: [] }, 'features must be'],
  [{ features: ['txn.amount_usd', 'txn.currency'] }, 'not inputs in this release: txn.currency'],
  [{ features: ['txn.amount_usd', 'txn.amount_usd'] }, 'a name twice'],
  [{ typical: [20] }, 'typical must'],
  [{ golden: undefined }, 'golden.vectors'],
  [{ golden: { ...MANIFEST.golden, vectors: [[1, 0]], scores: [0] } }, '4 to 1000 vectors'],
  [{ golden: { ...MANIFEST.golden, vectors: [[1], [2], [3], [4]] } }, 'golden.vectors must have a number or null for each feature'],
  [{ golden: { ...MANIFEST.golden, scores: [0, 0.5, 0.7] } }, 'a score for each vector'],
  [{ golden: { ...MANIFEST.golden, scores: [0, 0.5, 0.7, 2] } }, 'must be numbers from 0 to 1'],
  [{ golden: { ...MANIFEST.golden, tolerance: 1 } }, 'tolerance'],
  [{ trained_on: 5 }, 'trained_on'],
  [{ alone: { medium: 0.6, high: 0.5 } }, 'alone must satisfy 0 ≤ medium ≤ high'],
  [{ alone: { medium: '0.2' } }, 'alone must contain only numbers'],
])('%j is refused: %s', (change, fault) => {
  expect(() => parseManifest(JSON.stringify({ ...MANIFEST, ...change }))).toThrow(fault)
})

test.each(['', '5', 'null', '{'])('%j is not a manifest', (text) => {
  expect(() => parseManifest(text)).toThrow('The manifest is not')
})

test('the default policy has the thresholds of the shipped models', () => {
  for (const name of MODELS) {
    const file = `schemas/fraud/models/shipped/${name}-${shipped.versions[name]}.json`
    expect(parseManifest(readFileSync(file, 'utf8')).alone).toEqual(shipped.alone[name])
  }
})
