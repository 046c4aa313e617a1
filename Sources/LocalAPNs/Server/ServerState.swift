/// The state that all connections share. Only the server's event loop may use it.
final class ServerState {
    var service: Service
    private var connections: [Int: Connection] = [:]
    private var lastNumber = 0
    private let journal: Journal

    init(_ service: Service, _ journal: Journal) {
        self.service = service
        self.journal = journal
    }

    func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    func add(_ connection: Connection) { connections[connection.number] = connection }
    func remove(_ connection: Connection) { connections[connection.number] = nil }
    func report(_ record: Record) { journal.add(record) }

    /// - Returns: A sentence for the user: what was done.
    func perform(_ command: Command) throws(FieldError) -> String {
        switch command {
        case .clock(let step):
            report(service.moveClock(by: step))
            return "the clock shows \(TimeText.of(service.now))"
        case .device(let device):
            report(service.set(device))
            return "device \(device.token.prefix(8))… of \(device.bundle) is \(device.state.rawValue)"
        case .key(let id, let state):
            guard service.registry.set(key: id, state) else {
                throw FieldError("key.id", "the server has no key \(id)")
            }
            return "key \(id) is \(state.rawValue)"
        case .script(let lines):
            service.replaceScript(with: lines)
            return "the script now has \(lines.count) \(lines.count == 1 ? "line" : "lines")"
        case .streams, .goAway, .drop: return try applyToConnections(command)
        }
    }

    private func applyToConnections(_ command: Command) throws(FieldError) -> String {
        let chosen = connections.sorted { $0.key < $1.key }.map(\.value).filter { command.concerns($0.number) }
        if chosen.isEmpty, case .goAway(_, let number?) = command {
            throw FieldError("goaway.connection", "the server has no connection \(number)")
        }
        for connection in chosen { command.apply(to: connection) }
        if case .streams(let streams) = command { service.set(streams: streams) }
        let connections = "\(chosen.count) \(chosen.count == 1 ? "connection" : "connections")"
        switch command {
        case .streams(let streams): return "a connection may now have up to \(streams) streams at once"
        case .goAway: return "sent GOAWAY on \(connections)"
        default: return "closed \(connections)"
        }
    }

    private func report(_ events: [DeliveryEvent]) {
        for event in events { report(.delivery(event)) }
    }
}

extension Command {
    fileprivate func concerns(_ connection: Int) -> Bool {
        guard case .goAway(_, let chosen?) = self else { return true }
        return chosen == connection
    }

    fileprivate func apply(to connection: Connection) {
        switch self {
        case .streams(let streams): connection.limit(to: streams)
        case .goAway(let goAway, _): connection.send(goAway)
        case .drop: connection.drop()
        case .clock, .device, .key, .script: break
        }
    }
}
