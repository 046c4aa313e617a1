import Events
import JSON
import PipelineKit

extension DeviceRegistry {
    /// Writes all devices, sorted by the bytes of container, environment, user and name.
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(all: usersInOrder) { user, snapshot in
            snapshot.write(user.key)
            snapshot.write(all: user.devices) { $0.write(into: &$1) }
        }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        for _ in 0..<(try snapshot.count(bytesEach: 2)) {
            let user = try snapshot.userKey()
            for _ in 0..<(try snapshot.count(bytesEach: 4)) {
                let before = count
                try register(deviceOf: user, &snapshot)
                guard count > before else { throw snapshot.error("a device appears twice") }
            }
        }
    }

    private func registration(
        of user: [UInt8], _ snapshot: inout SnapshotReader
    ) throws(SnapshotError) -> Registration {
        Registration(
            DeviceName(user: user, name: try snapshot.name()), transport: try snapshot.name(),
            token: try snapshot.name(),
            topic: try snapshot.optional { snapshot throws(SnapshotError) in try snapshot.name() })
    }

    private mutating func register(
        deviceOf user: [UInt8], _ snapshot: inout SnapshotReader
    ) throws(SnapshotError) {
        let registration = try registration(of: user, &snapshot)
        let time = try snapshot.instant()
        do throws(Rejection) {
            try register(registration, at: time)
        } catch {
            throw snapshot.error(error.reason)
        }
    }

    /// Reads a device that a push or an effect refers to. The device may no longer be registered.
    mutating func device(from snapshot: inout SnapshotReader) throws(SnapshotError) -> Device {
        let registration = try registration(of: snapshot.userKey(), &snapshot)
        return device(registration, at: try snapshot.instant())
    }

    private var usersInOrder: [(key: [UInt8], devices: UserDevices)] {
        byUser.map { (key: $0.key, devices: $0) }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
}

extension Device {
    fileprivate func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(name)
        snapshot.write(transport)
        snapshot.write(token)
        snapshot.write(topic) { $1.write($0) }
        snapshot.write(registered)
    }

    /// Writes the user and the device.
    func writeWhole(into snapshot: inout SnapshotWriter) {
        snapshot.write(owner)
        write(into: &snapshot)
    }
}

extension SnapshotReader {
    fileprivate mutating func userKey() throws(SnapshotError) -> [UInt8] {
        let user = try array()
        guard user.last == 0, user.split(separator: 0).count == 3 else { throw error("the key of a user is invalid") }
        return user
    }

    /// Reads a name, token or topic.
    fileprivate mutating func name() throws(SnapshotError) -> String {
        let text = try text()
        guard !text.isEmpty, !text.utf8.contains(0) else { throw error("a string is empty or contains U+0000") }
        return text
    }
}

// MARK: - State

extension DeviceRegistry {
    /// Writes one line for each device, sorted by container, environment, user and name.
    ///
    /// - Parameter pending: See ``PendingPushes/countByDevice``.
    func writeState(pending: [[UInt8]: Int], into lines: inout ByteBuffer) {
        for device in usersInOrder.flatMap(\.devices) {
            device.writeState(pending[device.collapseKey([])], apps[device.appIndex], into: &lines)
        }
    }
}

extension Device {
    /// The most characters of a token that the state shows. The state never shows more than half of a token: a token is
    /// a secret, because whoever has it can reach the device.
    private static let tokenCharactersShown = 8

    fileprivate func writeState(_ pending: Int?, _ app: AppState, into lines: inout ByteBuffer) {
        for (index, part) in zip(0..., owner.split(separator: 0)) {
            if index == 0 {
                lines.append(first: .container)
            } else {
                lines.append(member: index == 1 ? .environment : .user)
            }
            part.withUnsafeBytes { lines.appendJSON(utf8: $0) }
        }
        writeName(to: &lines)
        lines.append(member: .token)
        lines.appendJSON(token.prefix(min(Self.tokenCharactersShown, token.count / 2)) + "…")
        if let topic {
            lines.append(member: .topic)
            lines.appendJSON(topic)
        }
        lines.append("pending", pending)
        if let hold = app.hold {
            lines.append("app", word: "stopped")
            lines.append(.probeAt, hold.probeAt)
        }
        lines.append("}\n")
    }
}
