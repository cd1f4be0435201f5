/** Names of the servers of the local stack. README.md#how-to-extend lists what else a new server needs. */
export const SERVER_NAMES = ['kafka', 'redis', 'clickhouse', 'registry', 'search'] as const

export type ServerName = (typeof SERVER_NAMES)[number]
