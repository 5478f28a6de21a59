/**
 * An object that is another one but for some members: what is read from it, written to it and called on it
 * concerns the other. Inherited methods run on the object itself, so that its private fields are there; the
 * object is not changed. A plain `Proxy` around it would break those, and a frozen one besides.
 */
export function overlay<T extends object>(target: T, own: Readonly<Record<string, unknown>>): T {
  const bound = new WeakMap<object, object>();
  const read = (key: PropertyKey): unknown => {
    if (typeof key === 'string' && Object.hasOwn(own, key)) return own[key];
    const value: unknown = Reflect.get(target, key, target);
    if (typeof value !== 'function' || key === 'constructor' || Object.hasOwn(target, key)) return value;
    let method = bound.get(value);
    if (method === undefined) bound.set(value, (method = value.bind(target) as object));
    return method;
  };
  return new Proxy(Object.create(Object.getPrototypeOf(target) as object | null) as T, {
    get: (_, key) => read(key),
    set: (_, key, value) => Reflect.set(target, key, value, target),
    has: (_, key) => Reflect.has(target, key),
    deleteProperty: (_, key) => Reflect.deleteProperty(target, key),
    defineProperty: (_, key, descriptor) => Reflect.defineProperty(target, key, descriptor),
    ownKeys: () => Reflect.ownKeys(target),
    getOwnPropertyDescriptor: (_, key) => {
      const found = Reflect.getOwnPropertyDescriptor(target, key);
      return found && { value: read(key), writable: true, enumerable: found.enumerable ?? false, configurable: true };
    },
  });
}
