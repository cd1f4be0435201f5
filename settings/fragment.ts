import type { z } from 'zod'

/** Environment variables by name. Each schema receives the text of the variable, or undefined if it is not set. */
export type Variables = Readonly<Record<string, z.ZodType>>

/** The parsed values of variables. */
export type Values<V extends Variables> = { readonly [Name in keyof V]: z.output<V[Name]> }

/** The environment in which a process runs. */
export interface Surroundings {
  /** The folder for all local data (MILLRACE_HOME). */
  readonly home: string
  /**
   * True when NODE_ENV is `production`. In production, no process generates secrets, because all processes must share
   * them.
   */
  readonly isProduction: boolean
}

/** Reports an invalid variable. The message follows the variable's name: `is missing: …`. */
export type Report = (variable: string, message: string) => void

/**
 * The settings of one service or top-level folder: its environment variables, the rules between them, and the resulting
 * value for the program.
 */
export interface SettingsFragment<Value = unknown, V extends Variables = Variables> {
  readonly variables: V
  /**
   * Checks rules between variables and the requirements of production. Runs only if all variables of this fragment are
   * valid.
   */
  rules?(values: Values<V>, report: Report, surroundings: Surroundings): void
  value(values: Values<V>, surroundings: Surroundings): Value
}

/** The type of the value that a fragment returns to the program. */
export type ValueOf<Fragment extends { value(...given: never): unknown }> = ReturnType<Fragment['value']>

/** Creates a fragment and infers its types from the variables. */
export function settingsFragment<Value, const V extends Variables>(fragment: SettingsFragment<Value, V>): SettingsFragment<Value, V> {
  return fragment
}

/** The fragment of services that have no settings. */
export const NO_SETTINGS = settingsFragment({ variables: {}, value: () => ({}) })
