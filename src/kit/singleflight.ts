/** Concurrent calls with the same key share one result. */
export interface Singleflight<V> {
  run(key: string, work: () => Promise<V>): Promise<V>
  readonly size: number
}

export function createSingleflight<V>(): Singleflight<V> {
  const flights = new Map<string, Promise<V>>()
  return {
    get size() {
      return flights.size
    },
    run(key, work) {
      const flying = flights.get(key)
      if (flying !== undefined) return flying
      const flight = work().finally(() => flights.delete(key))
      flights.set(key, flight)
      return flight
    },
  }
}
