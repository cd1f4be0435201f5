/**
 * Servers that only some services need. The local stack starts such a server only if one of the services that run names
 * it.
 */
export type OptionalServer = 'search'
