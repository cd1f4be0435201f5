import { INPUT_FIELDS } from '../../../../schemas/fraud/models/inputs.ts'
import type { FraudRiskFactor } from '../../../../schemas/fraud/types.ts'
import type { LoadedModel } from './model.ts'

export const MOST_FACTORS = 5
/**
 * Minimum contribution of a reported input, as a difference of probabilities. Smaller contributions are not meaningful.
 */
const LEAST_CONTRIBUTION = 0.005
const DECIMALS = 1e4

/**
 * Finds the inputs that raised a model's probability most. The contribution of an input is the mean of two differences.
 * The first is how much the probability falls if the input gets the value that it has in normal payments. The second is
 * how much the probability of a normal payment rises if its input gets the value from this transaction. The first
 * difference alone would miss inputs that are redundant, and the second alone would miss inputs that matter only in
 * combination.
 * @param row all inputs of one transaction
 * @returns at most five inputs, strongest first
 */
export async function explain({ manifest, slots, score }: LoadedModel, row: Float32Array): Promise<FraudRiskFactor[]> {
  const width = slots.length
  const own = Float32Array.from(slots, (slot) => row[slot])
  const typical = Float32Array.from(manifest.typical, (value) => value ?? Number.NaN)
  const differing = [...own.keys()].filter((column) => !Object.is(own[column], typical[column]))
  const rows = new Float32Array((2 + 2 * differing.length) * width)
  rows.set(own, 0)
  rows.set(typical, width)
  for (const [index, column] of differing.entries()) {
    const without = (2 + 2 * index) * width
    rows.set(own, without)
    rows[without + column] = typical[column]
    rows.set(typical, without + width)
    rows[without + width + column] = own[column]
  }
  const [whole, normal, ...others] = await score(rows, rows.length / width, true)
  return differing
    .map((column, index) => {
      const contribution = (whole - others[2 * index] + others[2 * index + 1] - normal) / 2
      return { factor: INPUT_FIELDS[slots[column]].name, contribution: Math.round(contribution * DECIMALS) / DECIMALS }
    })
    .filter(({ contribution }) => contribution >= LEAST_CONTRIBUTION)
    .sort((one, other) => other.contribution - one.contribution)
    .slice(0, MOST_FACTORS)
}
