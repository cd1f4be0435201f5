import { type AloneThresholds, MODELS, type ModelName } from '../decision/policy.ts'
import { inputField } from './inputs.ts'

/** Example inputs of a model, and the scores that every runtime must compute for them. */
export interface GoldenVectors {
  /** Values in the order of `features`; null for a missing value. */
  readonly vectors: readonly (readonly (number | null)[])[]
  readonly scores: readonly number[]
  /** Maximum difference between a computed score and the score in `scores`. */
  readonly tolerance: number
}

/** Describes an ONNX file: docs/services/fraud.md#model-files */
export interface ModelManifest {
  readonly name: ModelName
  readonly version: string
  /** Name of the ONNX file. It is in the same folder as the manifest. */
  readonly file: string
  /** SHA-256 of the ONNX file, in lower-case hexadecimal. */
  readonly sha256: string
  /** Names of the ONNX graph's input and of the output whose last column is the probability. */
  readonly input: string
  readonly output: string
  /** Names of inputs in the order of the graph's columns. */
  readonly features: readonly string[]
  /**
   * The values of a normal payment, in the order of `features`; null for a value that is usually missing. Risk factors
   * are found by comparing a payment with these values.
   */
  readonly typical: readonly (number | null)[]
  readonly golden: GoldenVectors
  /** Data and date of the training run, as human-readable text. */
  readonly trained_on: string
  /**
   * Probabilities at which this model alone raises the score of a transaction to a level. A policy for this model
   * contains these thresholds.
   */
  readonly alone: AloneThresholds
}

/** The versions that a model may have. */
export const MODEL_VERSION = /^[A-Za-z0-9_.-]{1,50}$/
const FILE = /^[A-Za-z0-9_.-]{1,100}\.onnx$/
const SHA256 = /^[0-9a-f]{64}$/
/**
 * Allowed number of golden vectors. A model without vectors could not be checked, and more than the maximum would only
 * slow down the start.
 */
const VECTORS = { least: 4, most: 1_000 }

/**
 * Parses a manifest.
 * @throws Error that names the first invalid field
 */
export function parseManifest(text: string): ModelManifest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error('The manifest is not JSON.')
  }
  if (typeof value !== 'object' || value === null) throw new Error('The manifest is not an object.')
  const manifest = withoutNulls(value as ModelManifest)
  for (const [isRight, fault] of checksOf(manifest)) if (!isRight) throw new Error(fault)
  return manifest
}

/**
 * Removes thresholds that are null. The API shows absent thresholds as null, so thresholds that were copied from the
 * API may be null.
 */
function withoutNulls(manifest: ModelManifest): ModelManifest {
  const { alone } = manifest
  if (typeof alone !== 'object' || alone === null) return manifest
  return { ...manifest, alone: Object.fromEntries(Object.entries(alone).filter(([, threshold]) => threshold !== null)) }
}

/** Yields the checks of a manifest. Later checks rely on earlier checks, so the checks are evaluated one by one. */
function* checksOf(manifest: ModelManifest): Generator<[isRight: boolean, fault: string]> {
  const { name, version, file, sha256, input, output, features, typical, golden, trained_on, alone } = manifest
  yield [MODELS.includes(name), `name must be one of ${MODELS.join(', ')}.`]
  yield [matches(MODEL_VERSION, version), 'version must be 1 to 50 letters, digits, dots, dashes or underscores.']
  yield [matches(FILE, file), 'file must be the name of an .onnx file in the same folder.']
  yield [matches(SHA256, sha256), 'sha256 must be 64 lower-case hexadecimal digits.']
  yield [typeof input === 'string' && typeof output === 'string', 'input and output must be strings.']
  yield [Array.isArray(features) && features.length > 0, 'features must be a list with at least one name.']
  const unknown = features.filter((feature) => inputField(feature) === undefined)
  yield [unknown.length === 0, `features contains names that are not inputs in this release: ${unknown.slice(0, 5).join(', ')}.`]
  yield [new Set(features).size === features.length, 'features contains a name twice.']
  yield [isVector(typical, features.length), 'typical must have a number or null for each feature.']
  yield [typeof golden === 'object' && golden !== null && Array.isArray(golden.vectors), 'golden.vectors must be a list.']
  const count = golden.vectors.length
  yield [count >= VECTORS.least && count <= VECTORS.most, `golden must have ${VECTORS.least} to ${VECTORS.most} vectors.`]
  yield [
    golden.vectors.every((vector) => isVector(vector, features.length)),
    'Each of golden.vectors must have a number or null for each feature.',
  ]
  yield [Array.isArray(golden.scores) && golden.scores.length === count, 'golden.scores must have a score for each vector.']
  yield [golden.scores.every((score) => score >= 0 && score <= 1), 'golden.scores must be numbers from 0 to 1.']
  yield [golden.tolerance >= 0 && golden.tolerance < 1, 'golden.tolerance must be at least 0 and below 1.']
  yield [typeof trained_on === 'string', 'trained_on must be a string.']
  yield [typeof alone === 'object' && alone !== null, 'alone must be an object.']
  const thresholds = [alone.medium, alone.high, alone.critical].filter((threshold) => threshold !== undefined)
  yield [thresholds.every(Number.isFinite), 'alone must contain only numbers.']
  const ascend = thresholds.every((threshold, index) => threshold >= (thresholds[index - 1] ?? 0) && threshold <= 1)
  yield [ascend, 'alone must satisfy 0 ≤ medium ≤ high ≤ critical ≤ 1.']
}

function matches(pattern: RegExp, value: unknown): boolean {
  return typeof value === 'string' && pattern.test(value)
}

function isVector(value: unknown, length: number): boolean {
  return Array.isArray(value) && value.length === length && value.every((one) => one === null || Number.isFinite(one))
}
