/** A place where people in the generated traffic live, or to which they travel. */
export interface City {
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  /** Both coordinates are in degrees. */
  readonly lat: number
  readonly lng: number
}

export const CITIES: readonly City[] = [
  { country: 'DE', lat: 52.52, lng: 13.4 },
  { country: 'DE', lat: 48.14, lng: 11.58 },
  { country: 'FR', lat: 48.86, lng: 2.35 },
  { country: 'GB', lat: 51.51, lng: -0.13 },
  { country: 'ES', lat: 40.42, lng: -3.7 },
  { country: 'PL', lat: 52.23, lng: 21.01 },
  { country: 'US', lat: 40.71, lng: -74.01 },
  { country: 'US', lat: 34.05, lng: -118.24 },
  { country: 'BR', lat: -23.55, lng: -46.63 },
  { country: 'IN', lat: 19.08, lng: 72.88 },
  { country: 'JP', lat: 35.68, lng: 139.69 },
  { country: 'NG', lat: 6.52, lng: 3.38 },
  { country: 'AU', lat: -33.87, lng: 151.21 },
  { country: 'ZA', lat: -33.92, lng: 18.42 },
]
