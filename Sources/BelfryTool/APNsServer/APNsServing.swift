import Foundation
import LocalAPNs
import PipelineRuntime
import Synchronization

/// One run of `belfry apns-server`. It prints records and executes commands until a signal comes or printing fails.
struct APNsServing: Sendable {
    var settings: LocalAPNs.Configuration
    let form: APNsDisplay.Form?

    private enum Event: Sendable {
        case command(String, line: Int)
        case stop
        case outputLost(OutputError)
    }

    func run() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        StopSignals.ignore(SIGTTIN)
        StopSignals.watch { number, earlier in
            if earlier > 0, number == SIGINT { _exit(128 + number) }
            continuation.yield(.stop)
        }
        let server = try await LocalAPNs.start(printingSettings { continuation.yield(.outputLost($0)) })
        StandardError.write(APNsPipelineSettings.text(server, settings))
        Self.readCommands { continuation.yield(.command($0, line: $1)) }
        try await handle(events, server)
        try await server.stop()
    }

    /// The settings, with a handler that prints each record that the form shows.
    ///
    /// - Parameter onFailure: Called once, when printing has failed.
    private func printingSettings(_ onFailure: @escaping @Sendable (OutputError) -> Void) -> LocalAPNs.Configuration {
        var settings = settings
        let display = APNsDisplay(form: form, isColoured: StandardOutput.isTerminal)
        let hasFailed = Atomic(false)
        settings.recordsKept = 1
        settings.onRecord = { record in
            guard !hasFailed.load(ordering: .relaxed), let line = display.text(of: record) else { return }
            do throws(OutputError) { try StandardOutput.write(line: line) } catch {
                hasFailed.store(true, ordering: .relaxed)
                onFailure(error)
            }
        }
        return settings
    }

    private func handle(_ events: AsyncStream<Event>, _ server: LocalAPNs) async throws {
        for await event in events {
            switch event {
            case .stop: return
            case .outputLost(let error): throw error
            case .command(let text, let line): await execute(text, line, server)
            }
        }
    }

    private func execute(_ command: String, _ line: Int, _ server: LocalAPNs) async {
        do { StandardError.write("done: \(try await server.control(command))") } catch {
            StandardError.write("\(InputSource.standard.name):\(line): \(error)")
        }
    }

    /// Reads commands from standard input on a thread of its own.
    private static func readCommands(_ onCommand: @escaping @Sendable (String, Int) -> Void) {
        Thread.detachNewThread {
            var number = 0
            while let line = readLine() {
                number += 1
                if line.contains(where: { !$0.isWhitespace }) { onCommand(line, number) }
            }
        }
    }
}
