/**
 * Returns an address without its user and password, for display.
 * @param address one address, or several addresses separated by commas
 */
export function withoutPassword(address: string): string {
  return address.replaceAll(/\/\/[^/,]*@/g, '//…@')
}
