import type { z } from 'zod'

/** Environment variables by name. Each schema takes the text of the variable, or undefined where it is not set. */
export type Variables = Readonly<Record<string, z.ZodType>>

/** The parsed values of variables. */
export type Values<V extends Variables> = { readonly [Name in keyof V]: z.output<V[Name]> }

/** Where a process runs. */
export interface Surroundings {
  /** The folder of all local data (MILLRACE_HOME). */
  readonly home: string
  /** Whether NODE_ENV is `production`: nothing is made up then that all processes must share. */
  readonly isProduction: boolean
}

/** Reports a wrong variable. The message follows the variable's name: `is missing: …`. */
export type Report = (variable: string, message: string) => void

/** The settings of one service or room: its environment variables, the rules between them, and the value that the program works with. */
export interface SettingsFragment<Value = unknown, V extends Variables = Variables> {
  readonly variables: V
  /** Checks what no single variable shows, and what production requires. It runs once every variable by itself is right. */
  rules?(values: Values<V>, report: Report, surroundings: Surroundings): void
  value(values: Values<V>, surroundings: Surroundings): Value
}

/** Infers the types of a fragment from its variables. */
export function settingsFragment<Value, const V extends Variables>(fragment: SettingsFragment<Value, V>): SettingsFragment<Value, V> {
  return fragment
}

/** For services without settings of their own. */
export const NO_SETTINGS = settingsFragment({ variables: {}, value: () => ({}) })
