import ArgumentParser
import PipelineRuntime
import ZeroMQ

/// The keys of a command that speaks to stages.
struct KeyOptions: ParsableArguments {
    @Option(
        help: """
            Your secret key, a file that `belfry keys make` made, instead of the stage's own from the pipeline file.
            """, completion: .file())
    var key: String?

    /// - Throws: ``ToolFailure`` where the file has no key.
    func pair() throws -> CurveKeyPair? { try key.map { try KeyFile(path: $0).pair() } }
}

extension CurvePublicKey {
    /// - Throws: A `ValidationError` that says what was expected.
    init(argument text: String) throws {
        do throws(ZMQError) { try self.init(z85: text) } catch {
            throw ValidationError("--server-key takes a public key of 40 characters, as `belfry keys show` prints it")
        }
    }
}
