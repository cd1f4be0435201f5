import type { AuthRule } from '../kit/route.ts'

/** Callers who may read transactions and profiles. */
export const READERS: AuthRule = { kind: 'scope', scope: ['fraud:analyst', 'fraud:ops', 'internal', 'admin'] }
