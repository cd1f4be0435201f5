/**
 * Servers that only some services use. The local stack starts them if one of the services that run names them.
 */
export type OptionalServer = 'search'
