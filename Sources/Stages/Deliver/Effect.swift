import Events
import JSON
import PipelineKit
import Time

/// What answers bring about beside the outcome of their own push.
///
/// It begins with a wake of its own just after the answers were taken: what a push is handed out for must not depend on
/// whether the push before it was answered already.
enum Effect {
    case retire(Retirement)
    /// - Parameters:
    ///   - app: Its place.
    ///   - wasProbe: Whether the app is held already, and this came of trying.
    case hold(app: Int, status: Int?, reason: String?, wasProbe: Bool)
    case resume(app: Int)
    /// The app's transport is set up anew. It is resumed a second later, so that no record of the old settings has the
    /// same time.
    case release(app: Int)
}

struct ComingEffect {
    var due: Instant
    var effect: Effect

    /// - Parameter taken: When the answer was taken. Nothing else has happened at the moment after.
    init(_ effect: Effect, after taken: Instant) {
        (due, self.effect) = (taken.advanced(by: .microseconds(1)), effect)
    }
}

/// A device whose address is no longer valid, and how that is known.
struct Retirement {
    var device: Device
    var push: UInt64
    var status: Int?
    var reason: String?
    var since: Instant

    func write(to buffer: inout ByteBuffer) {
        buffer.begin(event: EventName.deviceRetired)
        buffer.append(device.app, user: device.owner)
        device.writeName(to: &buffer)
        buffer.append(.topic, device.app.topic)
        buffer.append(status: status, reason: reason)
        buffer.append(.since, since)
        buffer.append(.registered, device.registered)
        buffer.append(.push, Int(clamping: push))
        buffer.append("}")
    }
}

extension AppKey {
    func writeStopped(status: Int?, reason: String?, probeAt: Instant, to buffer: inout ByteBuffer) {
        write(EventName.appStopped, to: &buffer)
        buffer.append(status: status, reason: reason)
        buffer.append(.probeAt, probeAt)
        buffer.append("}")
    }

    func writeResumed(waiting: Int, to buffer: inout ByteBuffer) {
        write(EventName.appResumed, to: &buffer)
        buffer.append(.held, waiting)
        buffer.append("}")
    }

    private func write(_ type: StaticString, to buffer: inout ByteBuffer) {
        buffer.begin(event: type)
        buffer.append(app, user: nil)
        buffer.append(.transport, transport)
        buffer.append(.topic, app.topic)
    }
}

extension ByteBuffer {
    mutating func append(_ app: Delivery.App, user: [UInt8]?) {
        append(.container, app.container)
        append(.environment, app.environment)
        if let user { append(user: user) }
    }

    /// - Parameter key: Container, environment and user.
    mutating func append(user key: [UInt8]) {
        guard let name = key.split(separator: 0).last else { return }
        append(member: .user)
        name.withUnsafeBytes { appendJSON(utf8: $0) }
    }
}
