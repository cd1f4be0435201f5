import type { Case } from './case.ts'
import { fencing } from './fencing.ts'
import { groups } from './groups.ts'
import { sequences } from './sequences.ts'
import { transactionsV1 } from './transactions-v1.ts'
import { transactionsV2 } from './transactions-v2.ts'

/** All cases. They use only requests that the client sends. Simulated brokers must answer them as real brokers do. */
export const CASES: readonly Case[] = [...sequences, ...transactionsV1, ...transactionsV2, ...fencing, ...groups]
