import ArgumentParser
import Glibc
import PipelineRuntime
import ZeroMQ

/// One process of the relay: passes messages on without looking at them. The last one counts, and says when it has all.
struct RelayHopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay-hop", abstract: "One process of `belfry bench relay`.", shouldDisplay: false)

    @Option var from: String
    @Option var to: String
    @Option(help: "Swallow one message, then so many, and say each time that it is done.") var count: Int?

    func run() async throws {
        StopSignals.ignore(SIGINT)
        // Whoever started this process holds the other end of its standard input.
        Lifeline.watch { _exit(0) }
        try await SocketThread.run(name: "relay") { [from, to, count] in
            let context = try ZMQContext()
            let input = try ZMQSocket(context, .pull, RelaySocket.options)
            let output = try ZMQSocket(context, .push, RelaySocket.options)
            try output.connect(to)
            try input.bind(from)
            let message = ZMQMultipart()
            guard let count else { return try RelayHopCommand.pass(message, input, output) }
            try RelayHopCommand.swallow(1, message, input, output)
            try RelayHopCommand.swallow(count, message, input, output)
            while try input.receive(into: message) == .received {}
        }
    }

    private static func swallow(
        _ count: Int, _ message: ZMQMultipart, _ input: ZMQSocket, _ output: ZMQSocket
    ) throws {
        for _ in 0..<count { _ = try input.receive(into: message) }
        _ = try output.send([[UInt8(ascii: "!")]])
    }

    private static func pass(_ message: ZMQMultipart, _ input: ZMQSocket, _ output: ZMQSocket) throws {
        while true {
            _ = try input.receive(into: message)
            _ = try output.send(message)
        }
    }

}

enum RelaySocket {
    /// A queue of 64 messages each way, so that a slow hop slows those before it.
    static var options: ZMQSocketOptions {
        ZMQSocketOptions().with {
            $0.sendHighWaterMessages = 64
            $0.receiveHighWaterMessages = 64
            $0.linger = .seconds(1)
            $0.reconnectInterval = .milliseconds(5)
        }
    }
}
