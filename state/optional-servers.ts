/**
 * Servers that only some services need. The local stack starts such a server only if a service that it runs names the
 * server.
 */
export type OptionalServer = 'search'
