import CloudKitModel
import Events
import JSON
import Predicates

/// A user of a container, who saves and deletes subscriptions.
public struct BelfryUser: Hashable, Sendable {
    /// CloudKit's two environments, which share no data.
    public enum Environment: String, Sendable { case development, production }

    /// The container's identifier, such as `iCloud.com.example.Notes`.
    public var container: String
    /// The environment of the app's container.
    public var environment: Environment
    /// The user's record name.
    public var recordName: String

    /// Identifies a user. The record name and the container are checked when a command is made.
    public init(_ recordName: String, container: String, environment: Environment = .production) {
        (self.recordName, self.container, self.environment) = (recordName, container, environment)
    }

    /// The ingest command that saves a subscription: a line for `belfry send`, without its newline.
    ///
    /// - Parameter isStrict: Whether to reject what CloudKit rejects. If false, every type of subscription may be saved
    ///   in every database, and zone subscriptions may watch the default zone. A predicate may then contain `OR`, `ALL`
    ///   before a field, and `NOT` before `BETWEEN` or before a group with `AND` or `OR`. Ingest accepts such a
    ///   subscription only if the pipeline file allows it.
    /// - Throws: The first rule that the subscription or this user violates.
    public func command(
        saving subscription: CKSubscription, in scope: CKDatabase.Scope, isStrict: Bool = true
    ) throws(InvalidSubscription) -> String {
        if let query = subscription as? CKQuerySubscription { try query.checkPredicate() }
        let command = command("subscription.save", in: scope) { buffer in
            buffer.append(",\"subscription\":")
            subscription.form.write(into: &buffer)
        }
        do { try SaveCheck(scope: scope.model, isStrict: isStrict).check(command) } catch {
            throw InvalidSubscription(error)
        }
        return command
    }

    /// The ingest command that deletes a subscription: a line for `belfry send`, without its newline.
    ///
    /// - Throws: The first rule that the ID or this user violates.
    public func command(
        deleting subscriptionID: CKSubscription.ID, in scope: CKDatabase.Scope
    ) throws(InvalidSubscription) -> String {
        let command = command("subscription.delete", in: scope) { buffer in
            buffer.append(.subscriptionID, subscriptionID)
        }
        do { try DeleteCheck().check(command) } catch { throw InvalidSubscription(error) }
        return command
    }

    private func command(
        _ type: StaticString, in scope: CKDatabase.Scope, _ write: (inout ByteBuffer) -> Void
    ) -> String {
        var buffer = ByteBuffer()
        buffer.begin(event: type)
        buffer.append(.container, container)
        buffer.append(.environment, environment.rawValue)
        buffer.append(.database, "\(scope.model.word)")
        buffer.append(.user, recordName)
        write(&buffer)
        buffer.append("}")
        return buffer.text
    }
}

extension CKQuerySubscription {
    /// - Throws: If a query dictionary cannot represent the predicate.
    fileprivate func checkPredicate() throws(InvalidSubscription) {
        guard let source = form.predicate else {
            throw InvalidSubscription(
                code: "predicate.unsupported", property: "predicate",
                reason:
                    "the predicate contains a block, which cannot be saved: write it as text, NSPredicate(format: …)")
        }
        guard let (number, reason) = source.refusedArgument else { return }
        throw InvalidSubscription(
            code: "predicate.arguments", property: "predicate.arguments[\(number - 1)]",
            reason: "the argument \(reason)")
    }
}
