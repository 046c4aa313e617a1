import Events
import JSON
import PipelineKit
import Time

/// A consequence of an answer besides the outcome of its push, or a consequence of changed settings.
///
/// The stage does not apply an effect of an answer at once, but in a separate wake just after the answer. Otherwise the
/// delivery of a push could depend on whether the answer to the previous push has already come.
enum Effect {
    case retire(Retirement)
    /// - Parameters:
    ///   - app: The index of the app.
    ///   - wasProbe: Whether the answer was to a probe of an app that is already stopped.
    case hold(app: Int, status: Int?, reason: String?, wasProbe: Bool)
    case resume(app: Int)
    /// The settings of the app's transport have changed. The app is resumed a second later. If it were resumed at once,
    /// the wake could have the time of the last batch under the old settings, and a replay would repeat the wake under
    /// the old settings.
    case resumeAfterSettingsChange(app: Int)
}

struct ScheduledEffect {
    var due: Instant
    var effect: Effect

    /// - Parameter time: The effect is due a microsecond after this time. For an effect of an answer, `time` is the time
    ///   of the answer.
    init(_ effect: Effect, after time: Instant) {
        (due, self.effect) = (time.advanced(by: .microseconds(1)), effect)
    }
}

/// A device whose address is no longer valid or is unknown to the transport, and the answer that says so.
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

    /// Appends the user.
    ///
    /// - Parameter key: A key that consists of container, environment and user.
    mutating func append(user key: [UInt8]) {
        guard let name = key.split(separator: 0).last else { return }
        append(member: .user)
        name.withUnsafeBytes { appendJSON(utf8: $0) }
    }
}
