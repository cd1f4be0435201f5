export function javaPackage(): string
