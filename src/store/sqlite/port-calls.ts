/** The port's asynchronous functions, from the engine's synchronous readers and its writer. */
import { StoreClosedError } from '../environment.ts'

type Functions<F> = { [N in keyof F]: (...args: never[]) => unknown }
export type Async<F extends Functions<F>> = {
  [N in keyof F]: (...args: Parameters<F[N]>) => Promise<ReturnType<F[N]>>
}

/** Reads on the calling thread's connection. */
export function asyncReads<F extends Functions<F>>(readers: F, isClosed: () => boolean): Async<F> {
  const wrapped = Object.entries<(...args: never[]) => unknown>(readers).map(([name, read]) => [
    name,
    async (...args: never[]) => {
      if (isClosed()) throw new StoreClosedError()
      return read(...args)
    },
  ])
  return Object.fromEntries(wrapped) as Async<F>
}
