import Time

/// Until when APNs tries to deliver a push: the value of `apns-expiration`, in seconds since 1970.
struct Expiration {
    /// 0: APNs tries once and stores nothing.
    let seconds: Int64

    init(_ duration: Duration, from now: Instant) {
        seconds = duration == .zero ? 0 : now.advanced(by: duration).microseconds / 1_000_000
    }
}
