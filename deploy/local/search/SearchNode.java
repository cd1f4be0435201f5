import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.index.mapper.MapperExtrasPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.script.expression.ExpressionPlugin;
import org.opensearch.transport.Netty4Plugin;

/**
 * Runs OpenSearch with the modules in MODULES. The only argument is the home folder, whose file config/opensearch.yml
 * contains the settings. The class extends Node, because Node's constructor that accepts modules is protected.
 */
public final class SearchNode extends Node {
  private static final List<Class<? extends Plugin>> MODULES = List.of(
      Netty4Plugin.class,
      CommonAnalysisPlugin.class,
      MapperExtrasPlugin.class,
      PainlessPlugin.class,
      ExpressionPlugin.class,
      BrowserGuardPlugin.class);

  private SearchNode(Environment environment) {
    super(environment, MODULES, true);
  }

  public static void main(String[] arguments) throws Exception {
    Settings home = Settings.builder().put("path.home", arguments[0]).build();
    Environment environment = InternalSettingsPreparer.prepareEnvironment(home, Map.of(), null, () -> "local");
    SearchNode node = new SearchNode(environment);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
    node.start();
    // The server's own threads do not keep the process alive.
    new CountDownLatch(1).await();
  }

  private static void close(SearchNode node) {
    try {
      node.close();
    } catch (IOException failure) {
      throw new IllegalStateException("the node could not be closed", failure);
    }
  }
}
