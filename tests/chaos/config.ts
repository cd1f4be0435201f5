import { join } from 'node:path'
import { z } from 'zod'

/** Settings of the chaos tests of services. */
export interface ChaosConfig {
  /** Seed of all random decisions. The tests print it, so that a failed run can be repeated. */
  readonly seed: number
  /** Number of rounds. In the test of the trends service, each round causes every incident once. */
  readonly rounds: number
  /** The parts to kill or the kinds of faults to apply; undefined for all. */
  readonly parts: readonly string[] | undefined
}

const MAX_SEED = 2 ** 32

const Environment = z.object({
  CHAOS_SEED: z.coerce.number().int().min(0).max(MAX_SEED).optional(),
  CHAOS_ROUNDS: z.coerce.number().int().min(1).default(10),
  CHAOS_PARTS: z
    .string()
    .transform((text) => text.split(','))
    .optional(),
})

export function chaosConfig(env: NodeJS.ProcessEnv = process.env): ChaosConfig {
  const { CHAOS_SEED, CHAOS_ROUNDS, CHAOS_PARTS } = Environment.parse(env)
  return { seed: CHAOS_SEED ?? Math.floor(Math.random() * MAX_SEED), rounds: CHAOS_ROUNDS, parts: CHAOS_PARTS }
}

/** Returns the folder that keeps the logs of failed runs. */
export function chaosHome(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.MILLRACE_HOME ?? join(import.meta.dirname, '../../.millrace'), 'chaos')
}

const MemoryEnvironment = z.object({
  CHAOS_MEMORY_SEEDS: z.coerce.number().int().min(1).optional(),
  CHAOS_MEMORY_FROM: z.coerce.number().int().min(0).default(1),
})

const MEMORY_SEEDS = 6

/**
 * Reads the number of runs on the in-memory broker, and the seed of the first run.
 * @param defaultSeeds the number of runs if the environment sets none
 */
export function memoryConfig(
  defaultSeeds = MEMORY_SEEDS,
  env: NodeJS.ProcessEnv = process.env,
): { readonly seeds: number; readonly from: number } {
  const { CHAOS_MEMORY_SEEDS, CHAOS_MEMORY_FROM } = MemoryEnvironment.parse(env)
  return { seeds: CHAOS_MEMORY_SEEDS ?? defaultSeeds, from: CHAOS_MEMORY_FROM }
}
