/**
 * Names of the servers of the local stack. A new name also needs an entry in `servers.ts` and a check in `health.ts`.
 */
export const SERVER_NAMES = ['kafka', 'redis', 'clickhouse', 'registry', 'search'] as const

export type ServerName = (typeof SERVER_NAMES)[number]
